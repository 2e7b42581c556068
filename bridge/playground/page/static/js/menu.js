// Menus beside a button, in the browser's top layer so that nothing clips them.

import { arrows } from "./a11y.js";
import { h } from "./dom.js";
import { change, page } from "./state.js";

const GAP = 4;

/** A button with a menu. `items` are {label, run, isDanger, hint}. */
export function menuButton(key, { items, ...more }) {
  return panelButton(key, { ...more, kind: "menu", content: () => items().map((item) => menuItem(item)) });
}

/** A button with a panel of any content. */
export function panelButton(key, { label, shows, content, look = "bare", short = null, tabindex = null, kind = "dialog" }) {
  const isOpen = page.menu === key;
  return h(
    "span",
    { class: "has-menu", key },
    opener(key, { label, shows, look, short, tabindex, isOpen, kind }),
    isOpen && popover({ role: kind, "aria-label": label }, content()),
  );
}

function opener(key, { label, shows, look, short, tabindex, isOpen, kind }) {
  return h(
    "button",
    {
      type: "button",
      class: look,
      "aria-label": label,
      "data-short": short,
      title: label,
      "aria-haspopup": kind,
      "aria-expanded": String(isOpen),
      tabindex,
      onclick: () => change({ menu: isOpen ? "" : key }),
    },
    shows,
  );
}

function popover(props, content) {
  return h(
    "div",
    { ...props, key: "popover", class: "menu", popover: "manual", mounted: open, onkeydown: onKey, onclick: (event) => event.stopPropagation() },
    content,
  );
}

function menuItem({ label, run, isDanger, hint }) {
  const onclick = () => {
    closeMenu();
    run();
  };
  return h(
    "button",
    { type: "button", role: "menuitem", key: label, class: isDanger ? "is-danger" : "", onclick },
    label,
    hint && h("small", {}, hint),
  );
}

function open(element) {
  element.showPopover();
  place(element);
  element.querySelector("button, input")?.focus();
}

/** Below the button, or above it if there's no room, within the window. */
function place(element) {
  const button = element.previousElementSibling.getBoundingClientRect();
  const { width, height } = element.getBoundingClientRect();
  const isBelow = button.bottom + height + GAP < innerHeight;
  const left = Math.max(GAP, Math.min(button.left, innerWidth - width - GAP));
  element.style.left = `${left}px`;
  element.style.top = `${Math.max(GAP, isBelow ? button.bottom + GAP : button.top - height - GAP)}px`;
}

function onKey(event) {
  if (event.key === "Escape" || event.key === "Tab") {
    event.stopPropagation();
    if (event.key === "Escape") event.preventDefault();
    event.currentTarget.previousElementSibling.focus();
    closeMenu();
  } else if (event.currentTarget.classList.contains("menu")) {
    arrows(event, "button");
  }
}

export const closeMenu = () => change({ menu: "" });

/** Close the menu on a click elsewhere. On scrolling, which a new message does too, it stays beside its button. */
export function keepMenusInPlace() {
  document.addEventListener("pointerdown", (event) => page.menu && !event.target.closest(".has-menu") && closeMenu());
  document.addEventListener("scroll", (event) => follow(event.target), true);
}

function follow(scrolled) {
  const menu = page.menu && document.querySelector(".has-menu > .menu");
  if (!menu || !scrolled.contains(menu) || scrolled === menu) return;
  const button = menu.previousElementSibling.getBoundingClientRect();
  const { top, bottom } = scrolled === document ? { top: 0, bottom: innerHeight } : scrolled.getBoundingClientRect();
  if (button.bottom < top || button.top > bottom) closeMenu();
  else place(menu);
}
