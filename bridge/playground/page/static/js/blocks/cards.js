// Cards, alerts, containers, and the steps of an agent's plan.

import { h } from "../dom.js";
import { element } from "./actions.js";
import { prose, words } from "./text.js";

export function card(block, surface) {
  return h(
    "article",
    { class: "card" },
    block.title && h("h4", {}, words(block.title)),
    block.subtitle && h("p", { class: "context-text" }, words(block.subtitle)),
    block.body && prose(block.body),
    block.subtext && h("p", { class: "context-text" }, words(block.subtext)),
    block.actions?.length && h("div", { class: "actions" }, block.actions.map((one) => element(block, one, surface))),
  );
}

export function carousel(block, surface) {
  return h("div", { class: "carousel", tabindex: 0, role: "group", "aria-label": "Cards" }, block.elements.map((one) => card(one, surface)));
}

export function container(block, children) {
  return h("section", { class: "card" }, block.title && h("h4", {}, words(block.title)), children);
}

export function alertBlock(block) {
  return h("div", { class: `alert is-${block.level ?? "default"}`, role: "note" }, words(block.text));
}

export function plan(block) {
  return h("section", { class: "card" }, h("h4", {}, block.title), (block.tasks ?? []).map((task) => taskCard(task)));
}

const STATUS = { pending: ["○", "waiting"], in_progress: ["◐", "in progress"], complete: ["✓", "done"], error: ["✕", "failed"] };

export function taskCard(block) {
  const [sign, inWords] = STATUS[block.status] ?? STATUS.pending;
  return h(
    "div",
    { class: `task is-${block.status ?? "pending"}` },
    h("span", { class: "task-sign", "aria-hidden": "true" }, sign),
    h("div", {}, h("span", {}, block.title), h("span", { class: "unseen" }, ` (${inWords})`), part(block.details), part(block.output)),
  );
}

const part = (text) => text && (text.html === undefined ? null : prose(text, "context-text"));
