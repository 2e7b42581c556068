// The parts behind the page, and their faults.

import { act } from "./api.js";
import { h } from "./dom.js";
import { page } from "./state.js";

export function partsInDetail() {
  return h(
    "ul",
    { class: "parts-list", key: "parts" },
    page.world.parts.map((part) =>
      h(
        "li",
        { key: part.name, class: part.is_up ? "" : "is-down" },
        h("span", { class: "dot" }),
        h("b", {}, part.name),
        h("span", { class: "pill" }, part.is_stand_in ? "built-in" : "real"),
        !part.is_up && h("span", { class: "pill is-bad" }, "down"),
        part.detail && h("p", {}, part.detail),
      ),
    ),
  );
}

export function faultSwitches() {
  const groups = grouped(page.world.faults);
  return h(
    "section",
    { class: "faults", key: "faults", "aria-label": "Faults" },
    h("p", { class: "quiet" }, "Break something, keep talking, then fix it: no message is lost."),
    [...groups].map(([group, faults]) => h("fieldset", { key: group }, h("legend", {}, group), faults.map((fault) => (fault.button ? action(fault) : toggle(fault))))),
  );
}

function grouped(faults) {
  const groups = new Map();
  for (const fault of faults) groups.set(fault.group, [...(groups.get(fault.group) ?? []), fault]);
  return groups;
}

const turn = (fault, isOn) => act("fault", { name: fault.name, is_on: isOn });

function toggle(fault) {
  return h(
    "button",
    { type: "button", key: fault.name, class: "fault", role: "switch", "aria-checked": String(fault.is_on), "data-fault": fault.name, onclick: () => turn(fault, !fault.is_on) },
    told(fault),
    h("span", { class: "switch", "aria-hidden": "true" }),
  );
}

function action(fault) {
  return h(
    "div",
    { key: fault.name, class: "fault" },
    told(fault),
    h("button", { type: "button", class: "button is-small", "aria-label": `${fault.button}: ${fault.title}`, "data-fault": fault.name, onclick: () => turn(fault, true) }, fault.button),
  );
}

const told = (fault) => h("span", { class: "told" }, h("b", {}, fault.title), h("small", {}, fault.explains));
