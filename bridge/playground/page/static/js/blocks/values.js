// Entered values, by block and action, for the life of the message or view.

import { remembered } from "../state.js";

const form = (surface) => remembered(`${surface.key} form`, { values: {} }).values;

/** The current value: entered in this window, else the server's, else the initial one. */
export function valueOf(surface, block, element) {
  const entered = form(surface)[block.block_id]?.[element.action_id];
  if (entered !== undefined) return entered;
  return surface.view?.values?.[block.block_id]?.[element.action_id] ?? initial(element);
}

export function enter(surface, block, element, value) {
  (form(surface)[block.block_id] ??= {})[element.action_id] = value;
}

function initial(element) {
  if (element.initial_option) return element.initial_option.value;
  if (element.initial_options) return element.initial_options.map((option) => option.value);
  const [, value] = Object.entries(element).find(([name]) => name.startsWith("initial_")) ?? [];
  if (value === undefined) return null;
  return typeof value === "object" ? value : String(value);
}

/** Every input of a view with its value, for submission. */
function inputsOf(surface) {
  return surface.view.blocks.filter((block) => block.type === "input").map((block) => ({ block, value: valueOf(surface, block, block.element) }));
}

export function valuesOf(surface) {
  const values = {};
  for (const { block, value } of inputsOf(surface)) values[block.block_id] = { [block.element.action_id]: isEmpty(value) ? null : value };
  return values;
}

export const isEmpty = (value) => value === null || value === undefined || value === "" || (Array.isArray(value) && !value.length);

/** The errors that Slack itself would show, by block. */
export function complaints(surface) {
  const found = {};
  for (const { block, value } of inputsOf(surface)) {
    const complaint = isEmpty(value) ? !block.optional && (block.complaint ?? "Please complete this required field.") : tooMuch(block.element, value);
    if (complaint) found[block.block_id] = complaint;
  }
  return found;
}

function tooMuch(element, value) {
  if (element.min_length && value.length < element.min_length) return `Enter at least ${element.min_length} characters.`;
  if (element.max_length && value.length > element.max_length) return `Enter at most ${element.max_length} characters.`;
  if (element.type !== "number_input") return "";
  if (element.min_value !== undefined && Number(value) < Number(element.min_value)) return `Enter ${element.min_value} or more.`;
  return element.max_value !== undefined && Number(value) > Number(element.max_value) ? `Enter ${element.max_value} or less.` : "";
}
