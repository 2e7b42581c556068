// The first steps of a newcomer: cards in an empty conversation, then a line above the message field, until all are
// done or the line is closed. The server says which are done, however that happened.

import { focusOn } from "./a11y.js";
import { openThread, toggleDrawer } from "./actions.js";
import { deliver } from "./composer.js";
import { h } from "./dom.js";
import { closeButton } from "./icons.js";
import { bot, change, isWithBot, page, person, shownChannel } from "./state.js";
import { storage } from "./storage.js";

const KEY = "playground-steps-hidden";

/** The steps: `text` is sent, with a mention if `isTalk`; the last one opens the drawer. Guests can't do all of them. */
const STEPS = [
  { name: "talk", text: "how do I reset my password?", isTalk: true, does: "Ask an agent" },
  { name: "run", text: "/workflows", does: "Run a workflow", isForRunners: true },
  { name: "stop", text: "Thinker: think", isTalk: true, does: "Start a slow answer, then stop it" },
  { name: "report", text: "/stats report every monday at 9 #ops", does: "Schedule a report", isForRunners: true },
  { name: "alert", text: '/stats alert workflow "Send newsletter" fails', does: "Set up an alert", isForRunners: true },
  { name: "kill", text: "Look inside", does: "Kill the bridge, lose no message" },
];

/** The steps offered here; none once all are done, or the person has hidden them. */
function offered(known) {
  const isGuest = person(page.as)?.kind !== "home";
  const steps = STEPS.filter((step) => !(isGuest && step.isForRunners));
  const isOver = storage()?.getItem(KEY) || steps.every(isDone);
  return shownChannel()?.bot_is_in && !known.is_archived && !isOver ? steps : [];
}

const isDone = ({ name }) => Boolean(page.world?.steps?.includes(name));

function hide() {
  storage()?.setItem(KEY, "yes");
  change();
  focusOn("[data-testid=composer]");
}

/** Begin a step; it's done once the server has seen what comes of it. */
function take(step, known) {
  if (step.name !== "kill") return sayAndFollow(words(step, known), known);
  change({ drawer: "faults" });
  return focusOn("[data-testid=drawer] h2");
}

const words = (step, known) => (step.isTalk ? mention(step.text, known) : step.text);
const mention = (text, known) => (isWithBot(known) ? text : `@${bot()?.name} ${text}`);
const label = (step) => (isDone(step) ? [h("span", { class: "is-done", role: "img", "aria-label": "Done:" }, "✓"), " ", step.does] : step.does);

/** Send a message and open its thread, where the answer appears; a command has none. */
export async function sayAndFollow(text, { id }) {
  const { ts } = await deliver({ text, channel: id });
  if (ts && page.channel === id) openThread(ts);
}

/** The steps as cards, in an empty conversation. */
export function stepCards(known) {
  const steps = offered(known);
  return h(
    "div",
    { class: "tries", key: "tries" },
    steps.length > 0 && h("p", {}, "New here? Try these:"),
    h("div", { class: "tries-row" }, steps.map((step) => card(step, known))),
    page.world.default_agent && h("p", { class: "quiet", key: "agent" }, `${page.world.default_agent} is the default agent: it answers messages that don't name another agent first, as in `, h("q", {}, mention("Memory: my name is Ada", known)), "."),
    h(
      "p",
      { class: "quiet", key: "more" },
      "Type / for all commands. To see every request, or break something, ",
      h("button", { type: "button", class: "linked", onclick: () => toggleDrawer() }, "look inside"),
      ".",
    ),
  );
}

function card(step, known) {
  return h(
    "button",
    { type: "button", class: "try", key: step.name, onclick: () => take(step, known) },
    h("b", {}, words(step, known)),
    h("span", {}, label(step)),
  );
}

/** The steps in one line above the message field, those that are left first. */
export function stepLine(known) {
  const steps = offered(known);
  if (!steps.length) return null;
  return h(
    "section",
    { class: "steps", key: "steps", "aria-label": "First steps" },
    h("span", { class: "quiet" }, "Next:"),
    h("div", { class: "steps-row", key: "row" }, steps.toSorted((a, b) => isDone(a) - isDone(b)).map((step) => chip(step, known))),
    closeButton(hide, "Hide first steps"),
  );
}

const chip = (step, known) => h("button", { type: "button", class: "step-chip", key: step.name, title: words(step, known), onclick: () => take(step, known) }, label(step));
