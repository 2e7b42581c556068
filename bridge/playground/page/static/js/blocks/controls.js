// Inputs: menus, checkboxes, dates, times and text.

import { h } from "../dom.js";
import { combobox } from "./combobox.js";
import { elementKey } from "./surface.js";
import { enter, valueOf } from "./values.js";
import { words } from "./text.js";

const CONTROLS = {
  static_select: select,
  radio_buttons: (...all) => ticks("radio", ...all),
  checkboxes: (...all) => ticks("checkbox", ...all),
  datepicker: (...all) => input("date", ...all),
  timepicker: (...all) => input("time", ...all),
  datetimepicker: moment,
  plain_text_input: (element, ...more) => (element.multiline ? area(element, ...more) : input("text", element, ...more)),
  rich_text_input: area,
  email_text_input: (...all) => input("email", ...all),
  url_text_input: (...all) => input("url", ...all),
  number_input: number,
};

export const isControl = (element) => element.type in CONTROLS || element.type.endsWith("_select");

/** A control. `onChosen` gets each choice and the previous one; `wanted` are attributes for its label and errors. */
export function control(block, element, surface, onChosen, wanted = {}) {
  const value = valueOf(surface, block, element);
  const key = elementKey(surface, block, element);
  const entered = (now) => {
    enter(surface, block, element, now);
    onChosen(now, value);
  };
  const silently = (now) => enter(surface, block, element, now);
  const attributes = { ...wanted, "aria-label": wanted.id ? null : (element.placeholder?.text ?? "Choose"), "data-action": element.action_id };
  if (Object.hasOwn(CONTROLS, element.type)) return CONTROLS[element.type](element, value, entered, { attributes, silently, key, isWide: !!wanted.id });
  if (element.type.endsWith("_select")) return combobox(block, element, surface, { value, entered, attributes, key });
  return h("p", { class: "unknown" }, `The playground can't show this input: ${element.type}`);
}

function select(element, value, entered, { attributes }) {
  const groups = element.option_groups ?? [{ options: element.options }];
  const one = (option) => h("option", { value: option.value }, option.text.text);
  return h(
    "select",
    { ...attributes, class: "control", value: value ?? "", onchange: (event) => entered(event.target.value || null) },
    h("option", { value: "", disabled: true, hidden: true }, element.placeholder?.text ?? "Choose an option"),
    groups.map((group) => (group.label ? h("optgroup", { label: group.label.text }, group.options.map(one)) : group.options.map(one))),
  );
}

function ticks(type, element, value, entered, { attributes, key }) {
  const all = [value ?? []].flat();
  const onchange = (option) => (event) => {
    if (type === "radio") return entered(option.value);
    return entered(event.target.checked ? [...all, option.value] : all.filter((one) => one !== option.value));
  };
  return h(
    "div",
    { ...attributes, class: "ticks", role: type === "radio" ? "radiogroup" : "group" },
    element.options.map((option) =>
      h(
        "label",
        { key: option.value },
        h("input", { type, name: key, value: option.value, checked: all.includes(option.value), onchange: onchange(option) }),
        h("span", {}, words(option.text), option.description && h("small", {}, words(option.description))),
      ),
    ),
  );
}

/** A single-line input: stores every change, and reports it when done. */
function input(type, element, value, entered, { attributes, silently }) {
  return h("input", {
    ...attributes,
    type,
    class: "control",
    placeholder: element.placeholder?.text,
    autofocus: element.focus_on_load,
    maxlength: element.max_length,
    value: value ?? "",
    oninput: (event) => silently(event.target.value),
    onchange: (event) => entered(event.target.value || null),
  });
}

function area(element, value, entered, { attributes, silently }) {
  return h("textarea", {
    ...attributes,
    class: "control",
    rows: element.rows ?? 4,
    placeholder: element.placeholder?.text,
    autofocus: element.focus_on_load,
    maxlength: element.max_length,
    value: typeof value === "string" ? value : "",
    oninput: (event) => silently(event.target.value),
    onchange: (event) => entered(event.target.value || null),
  });
}

function number(element, value, entered, more) {
  const limits = { min: element.min_value, max: element.max_value, step: element.is_decimal_allowed ? "any" : "1" };
  return input("number", element, value, entered, { ...more, attributes: { ...more.attributes, ...limits } });
}

/** Slack uses Unix seconds, the browser local time. */
function moment(element, value, entered, more) {
  const shown = value ? onClock(new Date(Number(value) * 1000)) : "";
  const seconds = (text) => (text ? String(Math.floor(new Date(text).getTime() / 1000)) : null);
  return input("datetime-local", element, shown, (text) => entered(seconds(text)), { ...more, silently: (text) => more.silently(seconds(text)) });
}

const onClock = (date) => new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
