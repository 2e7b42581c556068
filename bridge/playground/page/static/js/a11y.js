// What those hear who do not see the page, and where the keyboard's focus goes.

import { author, page } from "./state.js";

let heardIn = "";
let lastHeard = "";

export function announce(sentence) {
  document.getElementById("announcer").textContent = sentence;
}

/** Read new messages out: those of others, of the conversation on show and its thread. */
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

/** Put the focus somewhere once the page has been drawn. */
export function focusOn(selector) {
  setTimeout(() => document.querySelector(selector)?.focus());
}

/** Move among siblings by arrow keys. */
export function arrows(event, selector, { back = "ArrowUp", on = "ArrowDown" } = {}) {
  if (event.key !== back && event.key !== on) return false;
  const all = [...event.currentTarget.querySelectorAll(selector)];
  const next = all[all.indexOf(document.activeElement) + (event.key === on ? 1 : -1)];
  if (!next) return false;
  event.preventDefault();
  next.focus();
  return true;
}

/** A list of messages is one tab stop: arrows go from one to the next, and only the one with the focus has its tools. */
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
