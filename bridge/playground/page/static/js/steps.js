// The first steps of a newcomer: cards in an empty conversation, then a line above the message field, until all are
// taken or they are closed. The server says which were taken, however that was done.

import { focusOn } from "./a11y.js";
import { openThread, toggleDrawer } from "./actions.js";
import { deliver } from "./composer.js";
import { h } from "./dom.js";
import { closeButton } from "./icons.js";
import { bot, change, isWithBot, page, person, shownChannel } from "./state.js";
import { storage } from "./storage.js";

const KEY = "playground-steps-used";
const used = new Set((storage()?.getItem(KEY) ?? "").split(" "));

/** The steps: `text` is sent, with a mention if `isTalk`; the last one opens the drawer. Guests can't do all of them. */
const STEPS = [
  { name: "talk", text: "Memory: my name is Ada", isTalk: true, does: "Talk to an agent" },
  { name: "run", text: "/workflows", does: "Run a workflow", isForRunners: true },
  { name: "stop", text: "Thinker: think", isTalk: true, does: "Start a slow answer, then stop it", isBegun: true },
  { name: "report", text: "/stats report every monday at 9 #ops", does: "Schedule a report", isForRunners: true },
  { name: "alert", text: '/stats alert workflow "Send newsletter" fails', does: "Set up an alert", isForRunners: true },
  { name: "kill", text: "Trace and faults", does: "Kill the bridge, lose nothing", isBegun: true },
];

function open(known) {
  const taken = (page.world?.steps ?? []).filter((name) => !used.has(name));
  if (taken.length > 0) remember(taken);
  const hears = shownChannel()?.bot_is_in;
  const isGuest = person(page.as)?.kind !== "home";
  return hears && !known.is_archived ? STEPS.filter((step) => !used.has(step.name) && !(isGuest && step.isForRunners)) : [];
}

function remember(names) {
  for (const name of names) used.add(name);
  storage()?.setItem(KEY, [...used].join(" "));
}

function finish(steps) {
  remember(steps.map((step) => step.name));
  change();
  focusOn("[data-testid=composer]");
}

/** Take a step. Two of them are only begun by that: nothing is stopped or killed yet. */
function take(step, known) {
  if (!step.isBegun) finish([step]);
  if (step.name !== "kill") return sayAndFollow(words(step, known), known);
  change({ drawer: "faults" });
  return focusOn("[data-testid=drawer] h2");
}

const words = (step, known) => (step.isTalk && !isWithBot(known) ? `@${bot()?.name} ${step.text}` : step.text);

/** Send a message and open its thread, where the answer appears; a command has none. */
export async function sayAndFollow(text, { id }) {
  const { ts } = await deliver({ text, channel: id });
  if (ts && page.channel === id) openThread(ts);
}

/** The steps as cards, in an empty conversation. */
export function stepCards(known) {
  const steps = open(known);
  return h(
    "div",
    { class: "tries", key: "tries" },
    steps.length > 0 && h("p", {}, "New here? Try these:"),
    h("div", { class: "tries-row" }, steps.map((step) => card(step, known))),
    h(
      "p",
      { class: "quiet" },
      "Type / for all commands. See every request, or break something, in ",
      h("button", { type: "button", class: "linked", onclick: () => toggleDrawer() }, "Trace and faults"),
      ".",
    ),
  );
}

function card(step, known) {
  return h(
    "button",
    { type: "button", class: "try", key: step.name, onclick: () => take(step, known) },
    h("b", {}, words(step, known)),
    h("span", {}, step.does),
  );
}

/** The steps that are left, in one line above the message field. */
export function stepLine(known) {
  const steps = open(known);
  if (!steps.length) return null;
  return h(
    "section",
    { class: "steps", key: "steps", "aria-label": "First steps" },
    h("span", { class: "quiet" }, "Next:"),
    h("div", { class: "steps-row", key: "row" }, steps.map((step) => chip(step, known))),
    closeButton(() => finish(STEPS), "Hide first steps"),
  );
}

const chip = (step, known) => h("button", { type: "button", class: "step-chip", key: step.name, title: words(step, known), onclick: () => take(step, known) }, step.does);
