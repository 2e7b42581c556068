// The page's own forms: a few fields in a dialog.

import { dialogForm, problem } from "./dialogs.js";
import { h } from "./dom.js";
import { change, page } from "./state.js";

/** Ask for some fields. Resolves to their values by name, or null if the person cancels. */
export function fill({ title, confirm, fields, about = null }) {
  return new Promise((resolve) => {
    const values = Object.fromEntries(fields.map((field) => [field.name, field.value]));
    const end = (answer) => {
      change({ filling: null });
      resolve(answer);
    };
    change({ filling: { title, confirm, fields, about, values, end, problem: "" }, menu: "", notice: "" });
  });
}

/** A field: with `options` a menu, with `many` too, checkboxes; with `rows` a text area. */
export const inputField = (name, label, more = {}) => ({ name, label, value: more.many ? [] : "", hint: "", ...more });

export function filling() {
  const form = page.filling;
  if (!form) return null;
  const cancel = () => form.end(null);
  return dialogForm({
    key: "filling",
    testid: "fill",
    title: form.title,
    close: cancel,
    submit: () => submit(form),
    content: [form.about, problem(form.problem), form.fields.map((field) => row(form, field))],
    buttons: [
      h("button", { type: "button", class: "button", onclick: cancel }, "Cancel"),
      h("button", { type: "submit", class: "button is-primary", "data-testid": "fill-submit" }, form.confirm),
    ],
  });
}

function submit(form) {
  const empty = form.fields.find((field) => !field.optional && !String(form.values[field.name]).trim());
  if (!empty) return form.end(form.values);
  form.problem = `Fill in “${empty.label}”.`;
  return change();
}

function row(form, field) {
  if (field.many) return several(form, field);
  const id = `fill-${field.name}`;
  return h(
    "div",
    { class: "field", key: field.name },
    h("label", { class: "label", for: id }, field.label, field.optional && h("span", { class: "optional" }, " (optional)")),
    control(form, field, id),
    field.hint && h("p", { class: "hint" }, field.hint),
  );
}

function control({ values }, field, id) {
  const oninput = (event) => {
    values[field.name] = event.target.value;
  };
  const props = { id, class: "control", oninput, onkeydown: sendByKey };
  if (field.options) return h("select", { ...props, value: field.value, onchange: oninput }, field.options.map(({ value, label }) => h("option", { value, key: value }, label)));
  return h(field.rows ? "textarea" : "input", { ...props, rows: field.rows, value: field.value });
}

/** Ctrl or ⌘ with Enter submits, also in a text area. */
function sendByKey(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.closest("form").requestSubmit();
}

function several({ values }, field) {
  const toggle = (value) => (event) => {
    const others = values[field.name].filter((one) => one !== value);
    values[field.name] = event.target.checked ? [...others, value] : others;
  };
  return h(
    "fieldset",
    { class: "field ticks", key: field.name },
    h("legend", { class: "label" }, field.label),
    field.options.map(({ value, label }) => h("label", { key: value }, h("input", { type: "checkbox", checked: field.value.includes(value), onchange: toggle(value) }), label)),
  );
}
