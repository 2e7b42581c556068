// The sidebar: channels, people and the app.

import { goTo } from "./actions.js";
import { h } from "./dom.js";
import { hue, initials } from "./format.js";
import { icon } from "./icons.js";
import { startGroup } from "./others.js";
import { bot, change, isTalk, page, person } from "./state.js";
import { isDark, toggleTheme } from "./theme.js";
import { asSomebodyElse } from "./topbar.js";

export function sidebar() {
  const { channels } = page.world;
  const ours = bot()?.id;
  const direct = channels.filter((channel) => isTalk(channel) && channel.with !== ours);
  const app = channels.filter((channel) => channel.kind === "im" && channel.with === ours);
  return h(
    "nav",
    { class: `sidebar${page.isSidebarOpen ? " is-open" : ""}`, "aria-label": "Channels and people", key: "sidebar" },
    section("Channels", channels.filter((channel) => !isTalk(channel))),
    section("Apps", app),
    section("Direct messages", direct, h("li", { key: "new" }, newGroup())),
    h(
      "ul",
      { class: "sidebar-foot", key: "foot" },
      h("li", { key: "other" }, h("a", { class: "place", href: asSomebodyElse(), target: "_blank" }, icon("share"), "Open a window as someone else")),
      h("li", { key: "docs" }, h("a", { class: "place", href: "/docs/", target: "_blank", rel: "noopener" }, icon("file"), "Documentation")),
      h("li", { key: "theme" }, h("button", { type: "button", class: "place", onclick: () => (toggleTheme(), change()) }, icon(isDark() ? "sun" : "moon"), isDark() ? "Light mode" : "Dark mode")),
    ),
  );
}

function section(title, channels, more = null) {
  if (!channels.length && !more) return null;
  return h(
    "section",
    { key: title },
    h("h2", {}, title),
    h("ul", {}, channels.map((channel) => h("li", { key: channel.id }, link(channel))), more),
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

const newGroup = () => h("button", { type: "button", class: "place is-quiet", onclick: startGroup }, icon("add"), h("span", { class: "place-name" }, "New group…"));

function testId(channel) {
  if (channel.kind === "mpim") return `group-${channel.name}`;
  if (channel.kind !== "im") return `channel-${channel.name}`;
  return channel.with === bot()?.id ? "dm-bridge" : `dm-${channel.name}`;
}

function sign(channel) {
  if (channel.kind === "mpim") return icon("people");
  if (channel.kind !== "im") return icon(channel.kind === "group" ? "lock" : "hash");
  const other = person(channel.with);
  const name = other?.real_name ?? channel.name;
  return h("span", { class: `avatar tiny ${other?.is_bot ? "is-app" : hue(channel.with)}`, "aria-hidden": "true" }, initials(name));
}

/** On a phone, a tap beside the open sidebar closes it. */
export function sidebarVeil() {
  return page.isSidebarOpen && h("div", { key: "veil", class: "veil", onclick: () => change({ isSidebarOpen: false }) });
}
