// Reactions below a message, and the emoji picker.

import { act } from "./api.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { closeMenu, panelButton } from "./menu.js";
import { page } from "./state.js";

const toggle = (message, name) => act("react", { channel: message.channel, ts: message.ts, name });

export function reactions(message) {
  if (!message.reactions?.length) return null;
  return h(
    "div",
    { class: "reactions", key: "reactions" },
    message.reactions.map((one) =>
      h(
        "button",
        {
          type: "button",
          key: one.name,
          class: "reaction",
          "aria-pressed": String(one.mine),
          "aria-label": `${one.name}, ${one.count}`,
          title: `${one.users.join(", ")} reacted with :${one.name}:`,
          onclick: () => toggle(message, one.name),
        },
        h("span", { class: "sign" }, one.emoji),
        String(one.count),
      ),
    ),
    picker(message, "below"),
  );
}

export function picker(message, where, tabindex = null) {
  const key = `emoji ${where} ${message.ts}`;
  return panelButton(key, { label: "Add a reaction", short: "React", shows: icon("smile"), content: () => board(message), tabindex });
}

function board(message) {
  const choose = (name) => () => {
    closeMenu();
    toggle(message, name);
  };
  return h(
    "div",
    { class: "board" },
    page.emoji.map(([name, sign]) => h("button", { type: "button", key: name, title: `:${name}:`, "aria-label": name, onclick: choose(name) }, sign)),
  );
}
