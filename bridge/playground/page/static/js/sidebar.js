// The left side: the workspace, its channels, people and the app.

import { goTo } from "./actions.js";
import { h } from "./dom.js";
import { hue, initials } from "./format.js";
import { icon } from "./icons.js";
import { bot, change, page, person } from "./state.js";

export function sidebar() {
  const { channels } = page.world;
  const ours = bot()?.id;
  const direct = channels.filter((channel) => channel.kind === "im" && channel.with !== ours);
  const app = channels.filter((channel) => channel.kind === "im" && channel.with === ours);
  return h(
    "nav",
    { class: `sidebar${page.isSidebarOpen ? " is-open" : ""}`, "aria-label": "Channels and people", key: "sidebar" },
    section("Channels", channels.filter((channel) => channel.kind !== "im")),
    section("Apps", app),
    section("Direct messages", direct),
    h("p", { class: "sidebar-note" }, "Open a second window as somebody else with the arrow beside your name."),
  );
}

function section(title, channels) {
  if (!channels.length) return null;
  return h(
    "section",
    { key: title },
    h("h2", {}, title),
    h("ul", {}, channels.map((channel) => h("li", { key: channel.id }, link(channel)))),
  );
}

function link(channel) {
  const isHere = channel.id === page.channel;
  return h(
    "button",
    {
      type: "button",
      class: `place${isHere ? " is-here" : ""}${channel.unread && !isHere ? " is-unread" : ""}`,
      "data-testid": testId(channel),
      "aria-current": isHere ? "page" : null,
      onclick: () => goTo(channel.id),
    },
    sign(channel),
    h("span", { class: "place-name" }, person(channel.with)?.real_name ?? channel.name),
    channel.is_shared && h("span", { class: "place-tag", title: "Shared with another company" }, "shared"),
    channel.unread && !isHere && h("span", { class: "unseen" }, "(unread)"),
  );
}

function testId(channel) {
  if (channel.kind !== "im") return `channel-${channel.name}`;
  return channel.with === bot()?.id ? "dm-bridge" : `dm-${channel.name}`;
}

function sign(channel) {
  if (channel.kind !== "im") return icon(channel.kind === "group" ? "lock" : "hash");
  const other = person(channel.with);
  const name = other?.real_name ?? channel.name;
  return h("span", { class: `avatar tiny ${other?.is_bot ? "is-app" : hue(channel.with)}`, "aria-hidden": "true" }, initials(name));
}

/** On a phone, what lies beside the open sidebar closes it. */
export function sidebarVeil() {
  return page.isSidebarOpen && h("div", { key: "veil", class: "veil", onclick: () => change({ isSidebarOpen: false }) });
}
