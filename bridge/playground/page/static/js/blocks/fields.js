// An input block: label, control, error and hint.

import { focusOn } from "../a11y.js";
import { act } from "../api.js";
import { h } from "../dom.js";
import { change, remembered } from "../state.js";
import { control } from "./controls.js";
import { words } from "./text.js";
import { complaints } from "./values.js";

const GROUPS = new Set(["radio_buttons", "checkboxes"]);

export function field(block, surface) {
  const id = `${surface.key} ${block.block_id}`.replaceAll(" ", "-");
  const error = problems(surface)[block.block_id];
  const isGroup = GROUPS.has(block.element.type);
  const label = [words(block.label), block.optional && h("span", { class: "optional" }, " (optional)")];
  const described = [error && `${id}-error`, block.hint && `${id}-hint`].filter(Boolean).join(" ") || null;
  const wanted = { id, "aria-describedby": described, "aria-invalid": error ? "true" : null, "aria-labelledby": isGroup ? `${id}-label` : null };
  return h(
    "div",
    { class: `field${error ? " is-wrong" : ""}` },
    h(isGroup ? "span" : "label", { class: "label", id: `${id}-label`, for: isGroup ? null : id }, label),
    control(block, block.element, surface, (value) => dispatch(block, surface, value), wanted),
    error && h("p", { class: "error", id: `${id}-error`, role: "alert" }, error),
    block.hint && h("p", { class: "hint", id: `${id}-hint` }, words(block.hint)),
  );
}

/** Whether every input is valid. If not, the first that isn't gets the focus. */
export function isComplete(surface) {
  const found = complaints(surface);
  remembered(`${surface.key} problems`).own = Object.keys(found).length ? found : undefined;
  if (Object.keys(found).length) showFirstProblem();
  return !Object.keys(found).length;
}

export function showFirstProblem() {
  change();
  focusOn(".modal [aria-invalid]");
}

/** The page's own errors, or the app's. */
const problems = (surface) => remembered(`${surface.key} problems`).own ?? surface.view?.errors ?? {};

function dispatch(block, surface, value) {
  change();
  if (!block.dispatch_action) return;
  const what = { ...surface.place, block_id: block.block_id, action_id: block.element.action_id, value };
  act("select", what);
}
