// Buttons and menus in messages and views, whose use is sent to the app at once.

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { menuButton } from "../menu.js";
import { change, remembered } from "../state.js";
import { control, isControl } from "./controls.js";
import { choose, elementKey, isBusy, press } from "./surface.js";
import { words } from "./text.js";
import { enter } from "./values.js";

export function actions(block, surface) {
  return h("div", { class: "actions" }, block.elements.map((one) => element(block, one, surface)));
}

export function element(block, one, surface) {
  const key = one.action_id;
  if (one.type === "button" || one.type === "workflow_button") return button(block, one, surface);
  if (one.type === "overflow") return overflow(block, one, surface);
  if (isControl(one)) return h("span", { key, class: "action" }, control(block, one, surface, (value, before) => chooseOrNot(block, one, surface, value, before)));
  return h("span", { key, class: "unknown" }, `(${one.type})`);
}

/** Revert a choice that the person cancels or the app rejects. */
async function chooseOrNot(block, one, surface, value, before) {
  if (await choose(surface, block, one, value)) return;
  enter(surface, block, one, before);
  change();
}

const LOOKS = { primary: "is-primary", danger: "is-danger" };

function button(block, one, surface) {
  const busy = isBusy(surface, block, one);
  return h(
    "button",
    {
      type: "button",
      key: one.action_id,
      class: `button ${LOOKS[one.style] ?? ""}`,
      "aria-busy": busy ? "true" : null,
      "aria-label": one.accessibility_label,
      "data-action": one.action_id,
      onclick: () => pressButton(block, one, surface),
    },
    words(one.text),
    one.url && icon("share"),
  );
}

function pressButton(block, one, surface) {
  if (/^https?:\/\//i.test(one.url ?? "")) window.open(one.url, "_blank", "noopener,noreferrer");
  return press(surface, block, one);
}

function overflow(block, one, surface) {
  return menuButton(elementKey(surface, block, one), {
    label: "More options",
    look: "button is-small",
    shows: icon("more"),
    items: () => one.options.map((option) => ({ label: option.text.text, run: () => choose(surface, block, one, option.value) })),
  });
}

export function contextActions(block, surface) {
  const shown = block.elements.map((one) => (one.type === "feedback_buttons" ? feedback(block, one, surface) : iconButton(block, one, surface)));
  return h("div", { class: "actions context-actions" }, shown);
}

/** Two thumbs; the pressed one stays marked. */
function feedback(block, one, surface) {
  const widget = remembered(elementKey(surface, block, one));
  const thumb = (side, name) =>
    h(
      "button",
      {
        type: "button",
        class: "bare thumb",
        "aria-label": one[side].accessibility_label ?? one[side].text?.text,
        "data-short": one[side].text?.text,
        title: one[side].text?.text,
        "aria-pressed": String(widget.chosen === side),
        onclick: async () => {
          if (await choose(surface, block, one, one[side].value)) widget.chosen = side;
          change();
        },
      },
      icon(name),
    );
  return h("span", { key: one.action_id, role: "group", "aria-label": "Feedback" }, thumb("positive_button", "up"), thumb("negative_button", "down"));
}

function iconButton(block, one, surface) {
  const onclick = () => press(surface, block, one);
  return h("button", { type: "button", key: one.action_id, class: "bare", title: one.text?.text, "aria-label": one.text?.text, "data-short": one.text?.text, onclick }, icon("close"));
}
