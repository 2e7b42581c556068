// The page's own forms: a few fields in a dialog, drawn like an app's.

import { field, isComplete } from "./blocks/fields.js";
import { valuesOf } from "./blocks/values.js";
import { dialogForm } from "./dialogs.js";
import { h } from "./dom.js";
import { change, forget, page } from "./state.js";

const KEY = "fill";

/** Ask for some fields. Resolves to their values by name, or null if the person cancels. */
export function fill({ title, confirm, fields, about = null }) {
  forget(`${KEY} `);
  return new Promise((resolve) => {
    const end = (answer) => {
      change({ filling: null });
      resolve(answer);
    };
    const surface = { key: KEY, place: {}, view: { blocks: fields } };
    change({ filling: { title, confirm, about, surface, end }, menu: "", notice: "" });
  });
}

/** A field, as an input block: with `options` a menu, with `many` too, checkboxes; with `rows` a text area. */
export function inputField(name, label, { value = "", hint = "", optional = false, ...more } = {}) {
  const complaint = `Fill in “${label}”.`;
  return { type: "input", block_id: name, label: { text: label }, hint: hint && { text: hint }, optional, complaint, element: { action_id: name, ...elementOf(value, more) } };
}

function elementOf(value, { options, many, rows }) {
  if (!options) return { type: "plain_text_input", multiline: Boolean(rows), rows, initial_value: value };
  const choices = options.map((one) => ({ value: one.value, text: { text: one.label } }));
  if (many) return { type: "checkboxes", options: choices, initial_options: choices.filter((one) => value.includes(one.value)) };
  return { type: "static_select", options: choices, initial_option: choices.find((one) => one.value === value) };
}

export function filling() {
  if (!page.filling) return null;
  const { title, confirm, about, surface, end } = page.filling;
  const cancel = () => end(null);
  return dialogForm({
    key: "filling",
    testid: "fill",
    title,
    close: cancel,
    submit: () => isComplete(surface) && end(entered(surface)),
    content: [about, surface.view.blocks.map((block) => h("div", { key: block.block_id }, field(block, surface)))],
    buttons: [
      h("button", { type: "button", class: "button", onclick: cancel }, "Cancel"),
      h("button", { type: "submit", class: "button is-primary", "data-testid": "fill-submit" }, confirm),
    ],
  });
}

const entered = (surface) => Object.fromEntries(Object.entries(valuesOf(surface)).map(([name, { [name]: value }]) => [name, value ?? ""]));
