// The drawer: the trace of a message, and the faults.

import { h } from "./dom.js";
import { fetchWires } from "./api.js";
import { faultSwitches, partsInDetail } from "./faults.js";
import { closeButton } from "./icons.js";
import { change, page, shownThread } from "./state.js";

export function drawer() {
  if (!page.drawer) return null;
  return h(
    "aside",
    { class: "panel drawer", key: "drawer", "data-testid": "drawer", "aria-label": "Look inside", onkeydown: (event) => event.key === "Escape" && close() },
    h(
      "header",
      { class: "panel-head", key: "head" },
      h("h2", { tabindex: -1 }, "Look inside"),
      closeButton(close),
    ),
    h("div", { class: "tabs", role: "tablist", key: "tabs" }, tab("wires", "What happened"), tab("faults", "Break something")),
    h("div", { class: "drawer-body", role: "tabpanel", key: page.drawer, tabindex: 0 }, page.drawer === "wires" ? wires() : [partsInDetail(), faultSwitches()]),
  );
}

const close = () => change({ drawer: "" });

const tab = (name, label) =>
  h("button", { type: "button", role: "tab", key: name, "aria-selected": String(page.drawer === name), onclick: () => openTab(name) }, label);

function openTab(name) {
  change({ drawer: name, traced: page.traced ?? newest() });
  if (name === "wires") fetchWires();
}

/** By default, the newest message on show. */
function newest() {
  const last = (shownThread()?.messages ?? page.world.messages).at(-1);
  return last ? { channel: last.channel, ts: last.ts } : null;
}

function wires() {
  if (!page.traced) return h("p", { class: "quiet" }, "Choose “Show what happened” on any message.");
  if (!page.wires) return h("p", { class: "quiet", "aria-busy": "true" }, "Loading…");
  if (!page.wires.length) return h("p", { class: "quiet" }, "Nothing was sent for this message.");
  const from = page.wires[0].at;
  return [
    h("p", { class: "quiet", key: "about" }, "The steps for this message and its thread, in order."),
    h("ol", { class: "wires", key: "steps" }, page.wires.map((step, index) => oneStep(step, index, from))),
  ];
}

const TONES = { "Slack → bridge": "in", "bridge → Slack": "out", "bridge → service": "service", queue: "queue" };

function oneStep(step, index, from) {
  const isFine = /^(ok|2\d\d)?$/.test(step.outcome ?? "");
  return h(
    "li",
    { key: `${step.at} ${index}`, class: `step is-${TONES[step.wire] ?? "queue"}` },
    h("div", { class: "step-head" }, h("span", { class: "wire" }, step.wire), h("time", {}, `+${Math.round((step.at - from) * 1000).toLocaleString()} ms`)),
    h(
      "div",
      { class: "step-what" },
      h("b", {}, step.what),
      step.ms !== null && step.ms !== undefined && h("span", { class: "took" }, `${step.ms < 10 ? step.ms.toFixed(1) : Math.round(step.ms).toLocaleString()} ms`),
      step.outcome && h("span", { class: `pill ${isFine ? "is-good" : "is-bad"}` }, step.outcome),
    ),
    step.detail && h("p", {}, step.detail),
    step.body && h("details", {}, h("summary", {}, "Body"), h("pre", {}, JSON.stringify(step.body, null, 2))),
  );
}
