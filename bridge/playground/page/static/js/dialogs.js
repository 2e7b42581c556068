// Questions that wait for an answer, each in a real dialog: the rest of the page waits too.

import { words } from "./blocks/text.js";
import { h } from "./dom.js";
import { change, page } from "./state.js";

/** Ask what a Block Kit `confirm` object asks. Gives whether the person agreed. */
export function ask(question) {
  return new Promise((resolve) => {
    const answer = (isYes) => {
      change({ question: null });
      resolve(isYes);
    };
    change({ question: { ...question, answer } });
  });
}

/** A question in our own words. */
export const inWords = (title, text, confirm, style) => ({
  title: { text: title },
  text: { text },
  confirm: { text: confirm },
  deny: { text: "Cancel" },
  style,
});

export function question() {
  if (!page.question) return null;
  const { title, text, confirm, deny, style, answer } = page.question;
  return h(
    "dialog",
    { key: "question", class: "question", "aria-labelledby": "question-title", ...modal(() => answer(false)) },
    h("h2", { id: "question-title" }, words(title)),
    h("p", {}, words(text)),
    h(
      "footer",
      {},
      h("button", { type: "button", class: "button", onclick: () => answer(false) }, words(deny ?? { text: "Cancel" })),
      h(
        "button",
        { type: "button", class: `button ${style === "danger" ? "is-danger" : "is-primary"}`, onclick: () => answer(true) },
        words(confirm ?? { text: "OK" }),
      ),
    ),
  );
}

/** Where the app wants it, else the first field that is empty, else what says yes. */
function firstToFill(dialog) {
  const fields = [...dialog.querySelectorAll(".modal-body :is(input, textarea, select)")];
  return fields.find((one) => one.autofocus) ?? fields.find((one) => !one.value) ?? fields[0] ?? dialog.querySelector("footer .is-primary");
}

const focusedBefore = new WeakMap(); // dialog → what had the focus when it opened

/** What makes a <dialog> modal, closes it by Escape, and gives the focus back to where it was. */
export function modal(close) {
  return {
    mounted: (element) => {
      focusedBefore.set(element, document.activeElement);
      element.showModal();
      firstToFill(element)?.focus();
    },
    removed: (element) => {
      const before = focusedBefore.get(element);
      if (before?.isConnected) before.focus();
    },
    oncancel: (event) => {
      if (event.target !== event.currentTarget) return; // that of a file input bubbles
      event.preventDefault();
      close();
    },
    onclose: close, // browsers close it all the same where Escape is pressed twice
  };
}
