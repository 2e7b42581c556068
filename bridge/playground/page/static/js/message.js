// A message: author, time, content and actions.

import { goTo, openThread, showWires } from "./actions.js";
import { act } from "./api.js";
import { blocks } from "./blocks/index.js";
import { inMessage } from "./blocks/surface.js";
import { prose } from "./blocks/text.js";
import { ask, inWords } from "./dialogs.js";
import { h } from "./dom.js";
import { editor } from "./editor.js";
import { files } from "./files.js";
import { ago, clock, counted, hue, initials, wholeMoment } from "./format.js";
import { icon } from "./icons.js";
import { menuButton } from "./menu.js";
import { forward, letAppEdit } from "./others.js";
import { picker, reactions } from "./reactions.js";
import { author, bot, change, page, person } from "./state.js";

/** `isNext`: follows a message of the same author, so name and picture aren't repeated. */
export function message(one, { inThread = false, isNext = false, isLast = false } = {}) {
  const look = ["message", isNext && "is-next", one.is_private && "is-private", one.ts === page.traced?.ts && page.drawer === "wires" && "is-traced"];
  const props = {
    key: one.ts,
    class: look.filter(Boolean).join(" "),
    "data-testid": inThread ? "thread-message" : "message",
    "data-ts": one.ts,
    tabindex: isLast ? 0 : -1, // the list is one tab stop, see a11y.js
    "aria-label": `${author(one)}, ${clock(one.ts)}`,
    onkeydown: (event) => onKey(event, one, inThread),
  };
  if (one.deleted) return h("li", props, h("div", { class: "gutter" }), h("p", { class: "gone" }, "This message was deleted."), replies(one, inThread));
  const body = h("div", { class: "body" }, content(one, isNext, inThread));
  const marked = one.is_private ? h("div", { class: "body-frame", "data-testid": "ephemeral" }, privately(), body) : body;
  return h("li", props, gutter(one, isNext), marked, toolbar(one, inThread));
}

function content(one, isNext, inThread) {
  return [
    !isNext && head(one),
    one.is_broadcast && broadcast(one, inThread),
    page.editing === one.ts ? editor(one) : h("div", { class: "content", key: "content" }, written(one), attachments(one)),
    files(one),
    reactions(one),
    replies(one, inThread),
    status(one, inThread),
  ];
}

function broadcast(one, inThread) {
  if (inThread) return h("p", { class: "context-text", key: "broadcast" }, "Also sent to the channel");
  return h("button", { type: "button", class: "replies", key: "broadcast", "data-testid": "open-thread", onclick: () => openThread(one.thread_ts) }, h("b", {}, "Replied to a thread"));
}

const privately = () => h("p", { class: "privately", key: "privately" }, "Only visible to you");

function gutter(one, isNext) {
  if (isNext) return h("div", { class: "gutter" }, h("time", { datetime: wholeMoment(one.ts) }, clock(one.ts)));
  const look = one.icon ? "is-face" : one.is_app ? "is-app" : hue(one.user);
  return h("div", { class: "gutter" }, h("span", { class: `avatar ${look}`, "aria-hidden": "true" }, one.icon || initials(author(one))));
}

function head(one) {
  return h(
    "div",
    { class: "head", key: "head" },
    h("b", {}, author(one)),
    one.is_app && h("span", { class: "badge" }, "APP"),
    h("time", { title: wholeMoment(one.ts) }, clock(one.ts)),
    one.edited && one.blocks.length > 0 && h("small", { class: "edited" }, "(edited)"),
  );
}

function written(one) {
  if (one.blocks.length && (one.is_app || one.is_private || !one.text)) return blocks(one.blocks, inMessage(one));
  const edited = one.edited && h("small", { class: "edited", key: "edited" }, "(edited)");
  return [one.html && prose({ text: one.text, html: one.html }), edited, blocks(one.blocks, inMessage(one))];
}

const attachments = (one) =>
  one.attachments?.map((attachment) =>
    h(
      "div",
      { class: "attachment", style: { "border-color": attachment.color } },
      attachment.author && h("b", { class: "attachment-author" }, attachment.author, attachment.is_share && h("span", { class: "badge" }, "FORWARDED")),
      attachment.title && h("div", { class: "attachment-title", html: attachment.title }),
      attachment.blocks?.length ? blocks(attachment.blocks, inMessage(one)) : attachment.html && prose(attachment),
      attachment.fields?.length > 0 && h("dl", { class: "attachment-fields" }, attachment.fields.map(fieldOf)),
      attachment.files && files(attachment),
      attachment.footer && h("small", { class: "attachment-footer", html: attachment.footer }),
    ),
  );

const fieldOf = ({ title, value }, key) => h("div", { key }, h("dt", { html: title }), h("dd", { html: value }));

function replies(one, inThread) {
  if (inThread || !one.reply_count) return null;
  return h(
    "button",
    { type: "button", class: "replies", key: "replies", "data-testid": "open-thread", onclick: () => openThread(one.ts) },
    one.repliers.slice(0, 4).map((id) => {
      const name = person(id)?.real_name ?? id;
      return h("span", { class: `avatar tiny ${person(id)?.is_bot ? "is-app" : hue(id)}`, title: name, key: id, "aria-hidden": "true" }, initials(name));
    }),
    h("b", {}, counted(one.reply_count, "reply").replace("replys", "replies")),
    one.last_reply_ts && h("span", {}, `Last reply ${ago(one.last_reply_ts)}`),
  );
}

/** The app's status, on the root unless its thread is open. */
function status(one, inThread) {
  return !inThread && page.thread !== one.ts && statusLine(one);
}

export function statusLine(root) {
  if (!root?.status) return null;
  const stop = () => act("stop", { channel: root.channel, thread_ts: root.ts });
  return h(
    "div",
    { class: "status", key: "status", "data-testid": "status", role: "status" },
    h("span", { class: "dots", "aria-hidden": "true" }, h("i", {}), h("i", {}), h("i", {})),
    root.status.icon && h("span", { "aria-hidden": "true" }, root.status.icon),
    h("span", {}, `${root.status.name ?? bot()?.real_name ?? ""} ${root.status.text}`.trim()),
    root.status.can_stop && h("button", { type: "button", class: "button is-small", onclick: stop }, icon("stop"), "Stop"),
  );
}

/** The buttons become tab stops when their message has the focus, see a11y.js. */
function toolbar(one, inThread) {
  const hasThread = !inThread && !one.is_private && !(one.thread_ts && one.thread_ts !== one.ts);
  const button = (name, label, short, onclick, testid = null) =>
    h("button", { type: "button", key: name, class: "bare", tabindex: -1, "data-testid": testid, "aria-label": label, "data-short": short, title: label, onclick }, icon(name));
  return h(
    "div",
    { class: `toolbar${page.menu.endsWith(one.ts) ? " is-held" : ""}`, role: "toolbar", "aria-label": "Message actions" },
    !one.is_private && picker(one, "beside", -1),
    hasThread && button("reply", "Reply in thread", "Reply", () => openThread(one.ts), one.reply_count ? null : "open-thread"),
    button("wires", "Show what happened", "Steps", () => showWires(one.channel, one.ts)),
    menuButton(`more ${one.ts}`, { label: "More actions", short: "More", shows: icon("more"), items: () => choices(one, inThread), tabindex: -1 }),
  );
}

function choices(one, inThread) {
  const apps = page.world.shortcuts.filter((each) => each.type === "message" && !one.is_private);
  const isMine = one.is_mine && !one.is_private;
  const root = !inThread && one.thread_ts !== one.ts ? one.thread_ts : "";
  return [
    isMine && { label: "Edit message", run: () => change({ editing: one.ts }) },
    isMine && { label: "Delete message…", isDanger: true, run: () => remove(one) },
    one.is_other_app && { label: "Edit as the app…", run: () => letAppEdit(one) },
    !one.is_private && { label: "Forward message…", run: () => forward(one) },
    root && { label: "Open thread", run: () => openThread(root) },
    ...apps.map((each) => ({ label: each.name, hint: each.description, run: () => act("shortcut", { callback_id: each.callback_id, channel: one.channel, ts: one.ts }) })),
    { label: "Show what happened", run: () => showWires(one.channel, one.ts) },
    one.permalink && { label: "Copy link", run: () => navigator.clipboard?.writeText(one.permalink) },
  ].filter(Boolean);
}

async function remove(one) {
  const question = inWords("Delete message", "Are you sure you want to delete this message? This can't be undone.", "Delete", "danger");
  if (await ask(question)) await act("delete", { channel: one.channel, ts: one.ts });
}

/** Keyboard shortcuts while the message itself has the focus. */
function onKey(event, one, inThread) {
  if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "t" && !inThread && !one.is_private) openThread(one.thread_ts || one.ts);
  else if (event.key === "e" && one.is_mine) change({ editing: one.ts });
  else if (event.key === "w") showWires(one.channel, one.ts);
  else return;
  event.preventDefault();
}

/** Clicks on channel mentions open the channel. */
export function followMentions(event) {
  const channel = event.target.closest?.("[data-channel]")?.dataset.channel;
  if (!channel || !page.world.channels.some((one) => one.id === channel)) return;
  event.preventDefault();
  goTo(channel);
}
