// A searchable menu: for people, channels, multiple choices and external options.
// https://www.w3.org/WAI/ARIA/apg/patterns/combobox/

import { h } from "../dom.js";
import { closeButton, icon } from "../icons.js";
import { change, channelById, page, person, placeName, remembered } from "../state.js";
import { suggestions } from "./surface.js";

const PAUSE = 120; // milliseconds without a keystroke before a search

export function combobox(block, element, surface, { value, entered, attributes, key }) {
  const widget = remembered(`${key} combobox`, { typed: null, isOpen: false, options: [], active: -1, labels: {} });
  const isMulti = element.type.startsWith("multi_");
  const values = [value ?? []].flat();
  learnLabels(widget, element);
  const it = { block, element, surface, widget, values, isMulti, entered, listId: `${key} list`.replaceAll(" ", "-"), attributes };
  return h(
    "div",
    { class: `combobox${isMulti ? " is-multi" : ""}`, key },
    isMulti && values.map((one) => chip(it, one)),
    field(it),
    !isMulti && values.length > 0 && clearButton(it),
    widget.isOpen && list(it),
  );
}

/** Labels of values that were chosen before this page loaded the options. */
function learnLabels(widget, element) {
  const known = [element.initial_option, ...(element.initial_options ?? []), ...(element.options ?? [])];
  for (const option of known) if (option) widget.labels[option.value] = option.text.text;
}

function labelOf({ widget }, value) {
  if (value === undefined) return "";
  const channel = channelById(value);
  return widget.labels[value] ?? person(value)?.real_name ?? (channel ? placeName(channel) : value);
}

function field(it) {
  const { widget, values, isMulti, element, attributes } = it;
  const shown = widget.typed ?? (isMulti ? "" : labelOf(it, values[0]));
  return h("input", {
    ...attributes,
    key: "field",
    type: "text",
    class: "control",
    role: "combobox",
    autocomplete: "off",
    "aria-expanded": String(widget.isOpen),
    "aria-controls": it.listId,
    "aria-autocomplete": "list",
    "aria-activedescendant": widget.isOpen && widget.active >= 0 ? `${it.listId}-${widget.active}` : null,
    placeholder: element.placeholder?.text ?? "Choose an option",
    value: shown,
    onfocus: (event) => event.target.select(),
    onclick: () => open(it),
    oninput: (event) => type(it, event.target.value),
    onkeydown: (event) => onKey(it, event),
    onblur: () => shut(it),
  });
}

function open(it) {
  if (it.widget.isOpen) return;
  Object.assign(it.widget, { isOpen: true, active: -1, options: [] });
  look(it, "");
}

function shut({ widget }) {
  Object.assign(widget, { isOpen: false, typed: null });
  change();
}

function type(it, typed) {
  Object.assign(it.widget, { typed, isOpen: true });
  look(it, typed, PAUSE);
}

/** Find matching options; of several searches, the last one counts. */
async function look(it, typed, pause = 0) {
  const { widget, element, block, surface } = it;
  const search = (widget.search = Symbol(typed));
  change();
  if (!element.type.includes("external")) return offer(widget, known(element, typed));
  if (typed.length < (element.min_query_length ?? 3)) return offer(widget, [], "Type to search.");
  widget.note = "Searching…";
  await new Promise((resolve) => setTimeout(resolve, pause));
  if (widget.search !== search) return undefined;
  const found = await suggestions(surface, block, element, typed);
  if (widget.search !== search) return undefined;
  return offer(widget, (found ?? []).map((option) => ({ value: option.value, text: option.text.text })), found ? "No results." : "The app returned no options.");
}

function offer(widget, options, note = "No results.") {
  Object.assign(widget, { options, note: options.length ? "" : note, active: options.length ? 0 : -1 });
  for (const option of options) widget.labels[option.value] = option.text;
  change();
}

function known(element, typed) {
  const wanted = typed.toLowerCase();
  return choices(element).filter((option) => option.text.toLowerCase().includes(wanted)).slice(0, 100);
}

function choices(element) {
  const people = page.world.people.map((one) => ({ value: one.id, text: one.real_name }));
  const channels = page.world.channels.filter((one) => one.kind !== "im").map((one) => ({ value: one.id, text: placeName(one) }));
  if (element.type.includes("users_")) return people;
  if (element.type.includes("channels_")) return channels;
  if (element.type.includes("conversations_")) return channels;
  const options = element.options ?? element.option_groups.flatMap((group) => group.options);
  return options.map((option) => ({ value: option.value, text: option.text.text }));
}

function onKey(it, event) {
  const { widget, isMulti, values } = it;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && !widget.isOpen) open(it);
  else if (step) widget.active = (widget.active + step + widget.options.length) % (widget.options.length || 1);
  else if (event.key === "Enter") pickActive(it);
  else if (event.key === "Escape" && widget.isOpen) shut(it);
  else if (event.key === "Backspace" && isMulti && !event.target.value && values.length) return it.entered(values.slice(0, -1));
  else return undefined;
  event.preventDefault();
  event.stopPropagation();
  return change();
}

function pickActive(it) {
  const option = it.widget.options[it.widget.active];
  if (it.widget.isOpen && option) pick(it, option);
}

function pick(it, { value }) {
  const { widget, isMulti, values } = it;
  Object.assign(widget, { isOpen: false, typed: null });
  if (!isMulti) it.entered(value);
  else it.entered(values.includes(value) ? values.filter((one) => one !== value) : [...values, value]);
  change();
}

function list(it) {
  const { widget, values } = it;
  return h(
    "ul",
    { class: "menu options", key: "list", role: "listbox", id: it.listId, popover: "manual", mounted: place, onmousedown: (event) => event.preventDefault() },
    widget.options.map((option, index) =>
      h(
        "li",
        {
          key: option.value,
          role: "option",
          id: `${it.listId}-${index}`,
          class: index === widget.active ? "is-active" : "",
          "aria-selected": String(values.includes(option.value)),
          onclick: () => pick(it, option),
        },
        option.text,
        values.includes(option.value) && icon("check"),
      ),
    ),
    widget.note && h("li", { key: "note", class: "note", role: "presentation" }, widget.note),
  );
}

/** Below the field, or above it if there's more room. */
function place(element) {
  element.showPopover();
  const box = element.parentElement.getBoundingClientRect();
  const isBelow = innerHeight - box.bottom > Math.min(280, box.top);
  Object.assign(element.style, { left: `${box.left}px`, width: `${box.width}px`, maxHeight: "260px" });
  if (isBelow) element.style.top = `${box.bottom + 2}px`;
  else Object.assign(element.style, { top: "auto", bottom: `${innerHeight - box.top + 2}px` });
}

const chip = (it, value) =>
  h(
    "span",
    { class: "chip", key: `chip ${value}` },
    labelOf(it, value),
    closeButton(() => it.entered(it.values.filter((one) => one !== value)), `Remove ${labelOf(it, value)}`),
  );

const clearButton = (it) =>
  h("button", { type: "button", key: "clear", class: "bare clear", "aria-label": "Clear", "data-short": "Clear", onclick: () => it.entered(null) }, icon("close"));
