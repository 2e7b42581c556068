// Announcements for screen readers, and keyboard focus.

import { author, page } from "./state.js";

let heardIn = "";
let lastHeard = "";

export function announce(sentence) {
  document.getElementById("announcer").textContent = sentence;
}

/** Announce others' new messages in the open conversation and thread. */
export function announceNews() {
  const world = page.world;
  if (!world?.channel) return;
  const all = [...world.messages, ...(world.thread?.messages ?? [])];
  const newest = all.reduce((latest, message) => (message.ts > latest ? message.ts : latest), "");
  const place = `${page.as} ${page.channel} ${page.thread}`;
  const isSame = place === heardIn;
  const news = isSame ? all.filter((message) => message.ts > lastHeard && !message.is_mine) : [];
  if (news.length) announce(news.map((message) => `${author(message)}: ${message.text}`).join("\n").slice(0, 500));
  heardIn = place;
  lastHeard = isSame && lastHeard > newest ? lastHeard : newest;
}

/** Move the focus after the next drawing. */
export function focusOn(selector) {
  setTimeout(() => document.querySelector(selector)?.focus());
}

/** Move the focus among siblings with the arrow keys. */
export function arrows(event, selector, { back = "ArrowUp", on = "ArrowDown" } = {}) {
  if (event.key !== back && event.key !== on) return false;
  const all = [...event.currentTarget.querySelectorAll(selector)];
  const next = all[all.indexOf(document.activeElement) + (event.key === on ? 1 : -1)];
  if (!next) return false;
  event.preventDefault();
  next.focus();
  return true;
}

/** Roving tab index: a list of messages is one tab stop, and only the focused message's buttons can be tabbed to. */
export function rove(list) {
  let current = null;
  const use = (message) => {
    if (message === current) return;
    for (const [one, index] of [[current, -1], [message, 0]]) {
      one?.querySelectorAll(".toolbar [tabindex]").forEach((button) => (button.tabIndex = index));
      if (one) one.tabIndex = index;
    }
    current = message;
  };
  list.addEventListener("focusin", (event) => use(event.target.closest("[data-ts]") ?? current));
  list.addEventListener("keydown", (event) => event.target.matches("[data-ts]") && arrows(event, "[data-ts]"));
}
