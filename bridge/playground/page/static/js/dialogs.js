// Confirmations, as modal dialogs.

import { words } from "./blocks/text.js";
import { h } from "./dom.js";
import { closeButton } from "./icons.js";
import { change, page } from "./state.js";

/** Ask a Block Kit `confirm` question. Resolves to whether the person agreed. */
export function ask(question) {
  return new Promise((resolve) => {
    const answer = (isYes) => {
      change({ question: null });
      resolve(isYes);
    };
    change({ question: { ...question, answer } });
  });
}

/** A question of the page's own. */
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

/** A form in a dialog; `buttons` are in its footer. */
export function dialogForm({ key, testid, title, close, submit, content, buttons }) {
  return h(
    "dialog",
    { class: "modal", key, "data-testid": testid, "aria-labelledby": `${testid}-heading`, ...modal(close) },
    h(
      "form",
      { novalidate: true, onkeydown: sendByKey, onsubmit: (event) => (event.preventDefault(), submit()) },
      h("header", {}, h("h2", { id: `${testid}-heading` }, title), closeButton(close)),
      h("div", { class: "modal-body", key: "body" }, content),
      h("footer", { key: "foot" }, buttons),
    ),
  );
}

/** Ctrl or ⌘ with Enter submits, also in a text area. */
function sendByKey(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
}

export const problem = (text) => text && h("p", { class: "error", role: "alert", key: "problem" }, text);

/** The field that gets the focus: the one the app names, else the first, as in Slack; without fields, the main button. */
function firstToFill(dialog) {
  const fields = [...dialog.querySelectorAll(".modal-body :is(input, textarea, select)")];
  return fields.find((one) => one.autofocus) ?? fields[0] ?? dialog.querySelector("footer .is-primary");
}

const focusedBefore = new WeakMap(); // dialog → the element that had the focus before

/** Props of a modal <dialog>: Escape closes it, and the focus returns to where it was. */
function modal(close) {
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
      if (event.target !== event.currentTarget) return; // a file input's cancel bubbles
      event.preventDefault();
      close();
    },
    onclose: close, // browsers close it anyway when Escape is pressed twice
  };
}
