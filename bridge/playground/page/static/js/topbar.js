// The top bar: the parts and their states, and who you are.

import { become, toggleDrawer } from "./actions.js";
import { act } from "./api.js";
import { h } from "./dom.js";
import { counted } from "./format.js";
import { closeButton, icon } from "./icons.js";
import { addressOf, change, isTalk, page } from "./state.js";

export function topbar() {
  return h(
    "header",
    { class: "topbar", key: "topbar" },
    h(
      "button",
      { class: "bare only-phone", "aria-label": "Channels", "data-short": "Channels", "aria-expanded": String(page.isSidebarOpen), onclick: toggleSidebar },
      icon("menu"),
    ),
    h("h1", { class: "workspace" }, h("img", { src: new URL("../icon.svg", import.meta.url).href, alt: "", width: 24, height: 24 }), "Playground"),
    partsBar(),
    whoYouAre(),
    behind(),
  );
}

const toggleSidebar = () => change({ isSidebarOpen: !page.isSidebarOpen });

function behind() {
  return h(
    "button",
    { key: "behind", class: "bare behind", "aria-label": "Look inside", "data-short": "Inside", "aria-expanded": String(!!page.drawer), onclick: () => toggleDrawer() },
    icon("wires"),
    h("span", {}, "Look inside"),
  );
}

function partsBar() {
  const { parts, faults } = page.world;
  const on = faults.filter((fault) => fault.is_on).length;
  const down = parts.filter((one) => !one.is_up).length;
  return h(
    "button",
    { key: "parts", class: "parts", title: "Look inside", "aria-label": partsInWords(parts), onclick: () => toggleDrawer() },
    parts.map(part),
    h("span", { class: "part only-phone", key: "sum" }, h("span", { class: `dot${down || on ? " is-bad" : ""}` }), down ? `${down} down` : on ? counted(on, "fault") : "all up"),
    on > 0 && h("span", { class: "pill is-warning", key: "faults" }, counted(on, "fault")),
  );
}

const partsInWords = (parts) =>
  `Behind this page: ${parts.map((one) => `${one.name} ${one.is_stand_in ? "(built-in) " : ""}is ${one.is_up ? "up" : "down"}`).join(", ")}`;

function part({ name, is_stand_in: isStandIn, is_up: isUp, detail }) {
  return h(
    "span",
    { class: `part not-phone${isUp ? "" : " is-down"}`, key: name, title: detail || null },
    h("span", { class: "dot" }),
    name,
    isStandIn && h("small", {}, "built-in"),
    !isUp && h("small", {}, "down"),
  );
}

function whoYouAre() {
  const people = page.world.people.filter((one) => !one.is_bot && !one.deleted);
  return h(
    "div",
    { class: "who", key: "who" },
    h("label", { for: "as-user", class: "who-label" }, "You are"),
    h(
      "select",
      { id: "as-user", "data-testid": "as-user", value: page.as, onchange: (event) => become(event.target.value) },
      people.map((one) => h("option", { value: one.id, key: one.id }, one.real_name + KINDS[one.kind])),
    ),
  );
}

/** The address of this conversation as someone else. */
export function asSomebodyElse() {
  const other = page.world.people.find((one) => !one.is_bot && !one.deleted && one.id !== page.as);
  return addressOf({ as: other?.id, channel: isTalk(page.world.channel) ? "" : page.channel });
}

const KINDS = { home: "", guest: " (guest)", stranger: " (external)" };

const listenAgain = () => act("fault", { name: "nobody_listens", is_on: false });

/** Banners for current problems. */
export function troubles() {
  return [
    !page.isConnected &&
      h("div", { key: "lost", class: "trouble", role: "alert" }, icon("warning"), "Lost the connection to the playground. Reconnecting…"),
    page.world?.faults.some((one) => one.name === "nobody_listens" && one.is_on) &&
      h("div", { key: "unheard", class: "trouble", role: "status" }, icon("warning"), h("span", {}, "Slack can't reach the bridge, so messages you send now don't arrive. Reconnect, then choose Catch up now in Look inside."), h("button", { type: "button", class: "button is-small", onclick: listenAgain }, "Reconnect")),
    page.notice &&
      h(
        "div",
        { key: "notice", class: "trouble is-notice", role: "alert" },
        icon("warning"),
        h("span", {}, page.notice),
        closeButton(() => change({ notice: "" }), "Dismiss"),
      ),
  ];
}
