// A list of messages: day dividers, earlier messages on demand, and sticking to the end.

import { rove } from "./a11y.js";
import { fetchOlder } from "./api.js";
import { h } from "./dom.js";
import { dateOf, dayOf, momentOf } from "./format.js";
import { icon } from "./icons.js";
import { message } from "./message.js";
import { change, page, remembered } from "./state.js";

const TOGETHER = 5 * 60_000; // milliseconds within which an author's messages are grouped
const NEAR = 40; // pixels from the end that count as the end

/** Scroll a list to its end, to show a sent message. */
export function showEnd(key) {
  remembered(`scroll ${key}`).isAtEnd = true;
}

export const listKey = (channel) => `list ${page.as} ${channel}`;
export const threadKey = (ts) => `thread ${ts}`;

/** All loaded messages of a channel, oldest first. */
export function allMessages(world) {
  const older = page.older.get(world.channel.id)?.messages ?? [];
  const first = world.messages[0]?.ts;
  return first ? [...older.filter((one) => one.ts < first), ...world.messages] : world.messages;
}

export function hasOlder(world) {
  return world.has_older && !page.older.get(world.channel.id)?.isWhole;
}

/** A scrolling list, with `before` and `after` around the messages. */
export function messageList(all, { key, label, inThread = false, before = null, after = null }) {
  const place = remembered(`scroll ${key}`, { isAtEnd: true });
  return h(
    "div",
    { class: "scroll-frame", key },
    h(
      "div",
      { class: "scroll", key: "scroll", mounted: (element) => keepEnd(element, place) },
      h("div", { class: "scrolled" }, before, h("ol", { class: "messages", "aria-label": label, mounted: keyboard }, lines(all, inThread)), after),
    ),
    !place.isAtEnd && h("button", { type: "button", class: "to-end", key: "end", onclick: toEnd }, icon("chevron"), "Jump to latest"),
  );
}

function keyboard(list) {
  rove(list);
  list.tabIndex = -1;
}

function lines(all, inThread) {
  let last = null;
  return all.map((one, index) => {
    const isNewDay = !inThread && (!last || dayOf(last.ts) !== dayOf(one.ts));
    const isNext = !isNewDay && goesOn(last, one);
    last = one;
    return [isNewDay && day(one), message(one, { inThread, isNext, isLast: index === all.length - 1 })];
  });
}

const day = (one) => h("li", { key: `day ${dateOf(one.ts)}`, class: "day" }, h("span", {}, dayOf(one.ts)));

function goesOn(last, one) {
  const isSame = last && last.user === one.user && last.name === one.name && !last.deleted && last.is_private === one.is_private;
  return isSame && !last.reply_count && momentOf(one.ts) - momentOf(last.ts) < TOGETHER;
}

/** Stick to the end as messages come and grow, unless the person has scrolled up. */
function keepEnd(element, place) {
  let size = "";
  const sizeNow = () => `${element.scrollHeight} ${element.clientHeight}`;
  const stick = () => {
    if (place.isAtEnd) element.scrollTop = element.scrollHeight;
    size = sizeNow();
  };
  const observer = new ResizeObserver(stick);
  observer.observe(element);
  observer.observe(element.firstElementChild);
  stick();
  element.addEventListener("scroll", () => {
    if (place.isAtEnd && size !== sizeNow()) return stick(); // a change of size moved it, not the person
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    if (isAtEnd === place.isAtEnd) return;
    place.isAtEnd = isAtEnd;
    change();
  });
}

function toEnd(event) {
  const element = event.currentTarget.parentElement.querySelector(".scroll");
  element.scrollTo({ top: element.scrollHeight, behavior: "smooth" });
}

/** Load earlier messages above, without moving what is in view. */
export function olderButton(world) {
  if (!hasOlder(world)) return null;
  const load = async (event) => {
    const element = event.currentTarget.closest(".scroll");
    const below = element.scrollHeight - element.scrollTop;
    await fetchOlder(allMessages(world)[0].ts);
    setTimeout(() => (element.scrollTop = element.scrollHeight - below));
  };
  return h("button", { type: "button", class: "button older", key: "older", onclick: load }, "Load earlier messages");
}
