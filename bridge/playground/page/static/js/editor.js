// Editing a message in place: Enter saves, Escape cancels.

import { focusOn } from "./a11y.js";
import { act } from "./api.js";
import { h } from "./dom.js";
import { change } from "./state.js";

export function editor(message) {
  return h(
    "form",
    { class: "editor", key: "editor", onsubmit: (event) => (event.preventDefault(), save(message, event.target)) },
    h("textarea", {
      class: "control",
      "aria-label": "Edit message",
      rows: 2,
      value: message.text,
      mounted: (element) => {
        element.focus();
        element.setSelectionRange(element.value.length, element.value.length);
      },
      onkeydown: (event) => onKey(event, message),
    }),
    h(
      "div",
      { class: "actions" },
      h("button", { type: "button", class: "button is-small", onclick: () => leave(message) }, "Cancel"),
      h("button", { type: "submit", class: "button is-small is-primary" }, "Save"),
    ),
  );
}

function onKey(event, message) {
  if (event.isComposing || (event.key !== "Escape" && (event.key !== "Enter" || event.shiftKey))) return;
  event.preventDefault();
  event.stopPropagation();
  if (event.key === "Escape") leave(message);
  else save(message, event.target.form);
}

async function save(message, form) {
  const text = form.querySelector("textarea").value;
  if (text.trim() && text !== message.text) {
    const answer = await act("edit", { channel: message.channel, ts: message.ts, text });
    if (!answer.ok) return;
  }
  leave(message);
}

function leave(message) {
  change({ editing: "" });
  focusOn(`[data-ts="${message.ts}"]`);
}
