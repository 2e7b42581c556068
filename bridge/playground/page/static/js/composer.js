// The composer: Enter sends, Shift+Enter starts a line, "/" and "@" offer completions.

import { act } from "./api.js";
import { completionsFor } from "./completion.js";
import { attachChoices, chosen, hasContents, nothing, sent, takeTable } from "./contents.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { menuButton } from "./menu.js";
import { listKey, showEnd, threadKey } from "./messages.js";
import { change, isTalk, page, remembered } from "./state.js";

export function composer({ channel, threadTs = "", label, hint = "", testid, sendTestid }) {
  const key = `composer ${channel.id} ${threadTs}`;
  const it = { key, channel, threadTs, draft: remembered(key, { text: "", ...nothing(), broadcast: false, offer: null, active: -1 }) };
  return h(
    "form",
    { class: "composer", key, onsubmit: (event) => (event.preventDefault(), send(it)) },
    it.draft.offer && offerList(it),
    chosen(it.draft),
    textarea(it, label, hint, testid),
    h("div", { class: "composer-tools", key: "tools" }, tools(it), sendButton(it, sendTestid)),
  );
}

function textarea(it, label, hint, testid) {
  const { draft } = it;
  return h("textarea", {
    key: "text",
    rows: 1,
    placeholder: label + hint,
    "aria-label": label,
    "data-testid": testid,
    "aria-controls": draft.offer ? listId(it) : null,
    "aria-activedescendant": draft.active >= 0 ? `${listId(it)}-${draft.active}` : null,
    "aria-autocomplete": "list",
    value: draft.text,
    drawn: fit,
    oninput: (event) => write(it, event.target.value, event.target.selectionStart),
    onclick: (event) => offerAt(it, event.target),
    onkeydown: (event) => onKey(it, event),
    onpaste: (event) => takeTable(it.draft, event),
    onblur: () => close(it),
  });
}

const listId = (it) => `${it.key} offer`.replaceAll(" ", "-");

const fitted = new WeakMap(); // textarea → the text and width that its height fits

/** Fit the height to the text, however it changed. */
function fit(element) {
  const now = `${element.clientWidth} ${element.value}`;
  if (fitted.get(element) === now) return;
  fitted.set(element, now);
  element.style.height = "auto";
  element.style.height = `${Math.min(element.scrollHeight, 240)}px`;
}

function write(it, text, caret) {
  it.draft.text = text;
  const offer = completionsFor(text, caret, page.world, page.emoji, { inThread: !!it.threadTs });
  Object.assign(it.draft, { offer, caret, active: offer?.items.length && !offer.isExact ? 0 : -1 });
  change();
}

const offerAt = (it, element) => write(it, element.value, element.selectionStart);

function close(it) {
  Object.assign(it.draft, { offer: null, active: -1 });
  change();
}

function onKey(it, event) {
  if (event.isComposing) return; // an input method is composing
  const { draft } = it;
  const count = draft.offer?.items.length ?? 0;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && count) draft.active = (draft.active + step + count) % count;
  else if (event.key === "ArrowUp" && !draft.text) editLast(it);
  else if (event.key === "Tab" && count && !event.shiftKey) complete(it, event.target, Math.max(draft.active, 0));
  else if (event.key === "Escape" && draft.offer) close(it);
  else if (event.key === "Enter" && !event.shiftKey) enter(it, event.target);
  else return;
  event.preventDefault();
  event.stopPropagation();
  change();
}

function enter(it, element) {
  if (it.draft.active >= 0) complete(it, element, it.draft.active);
  else send(it);
}

function complete(it, element, index) {
  const { offer, caret, text } = it.draft;
  const { insert } = offer.items[index];
  const written = text.slice(0, offer.from) + insert;
  element.value = written + text.slice(caret);
  element.setSelectionRange(written.length, written.length);
  element.focus();
  offerAt(it, element);
}

function editLast({ threadTs }) {
  const messages = threadTs ? (page.world.thread?.messages ?? []) : page.world.messages;
  const last = messages.findLast((message) => message.is_mine && !message.deleted && !message.is_private);
  if (last) change({ editing: last.ts });
}

async function send(it) {
  const { draft, channel, threadTs } = it;
  const { text, files, table, clip, broadcast } = draft;
  const contents = { files, table, clip };
  if (!text.trim() && !hasContents(contents)) return;
  Object.assign(draft, { text: "", ...nothing(), broadcast: false, offer: null, active: -1 });
  showEnd(threadTs ? threadKey(threadTs) : listKey(channel.id));
  const answer = await deliver({ text, contents, broadcast, channel: channel.id, threadTs });
  if (answer.ok || draft.text) return;
  Object.assign(draft, { text, ...contents, broadcast }); // restore what wasn't sent
  change();
}

/** Text that starts with "/" and a letter is a command; "/ " and "//" are plain text. */
export function deliver({ text, contents = nothing(), broadcast = false, channel, threadTs = "" }) {
  const [, command, rest] = /^(\/[\p{L}\p{N}_-]+)(?:\s+(.*))?$/su.exec(text.trim()) ?? [];
  if (command && !hasContents(contents)) return act("command", { channel, command, text: rest ?? "", in_thread: !!threadTs });
  const inThread = threadTs ? { thread_ts: threadTs, broadcast } : {};
  return act("say", { channel, text, ...inThread, ...sent(contents) });
}

function offerList(it) {
  const { offer, active } = it.draft;
  return h(
    "div",
    { class: "offer", key: "offer" },
    h("p", {}, offer.heading),
    h(
      "ul",
      { role: "listbox", id: listId(it), "aria-label": offer.heading, onmousedown: (event) => event.preventDefault() },
      offer.items.map((item, index) =>
        h(
          "li",
          {
            key: item.insert,
            role: "option",
            id: `${listId(it)}-${index}`,
            class: index === active ? "is-active" : "",
            "aria-selected": String(index === active),
            onclick: (event) => complete(it, event.currentTarget.closest("form").querySelector("textarea"), index),
          },
          h("b", {}, item.label),
          item.more && h("code", {}, item.more),
          item.hint && h("span", {}, item.hint),
        ),
      ),
    ),
  );
}

function tools(it) {
  const global = page.world.shortcuts.filter((one) => one.type === "global");
  return [
    menuButton(`${it.key} attach`, { label: "Attach", shows: shown("add", "Attach"), items: () => attachChoices(it.draft), look: "bare tool" }),
    tool("at", "Mention", startWith(it, "@")),
    !it.threadTs && tool("slash", "Commands", startWith(it, "/")),
    global.length > 0 &&
      menuButton(`${it.key} shortcuts`, {
        label: "Shortcuts",
        look: "bare tool",
        shows: shown("bolt", "Shortcuts"),
        items: () => global.map((one) => ({ label: one.name, hint: one.description, run: () => act("shortcut", { callback_id: one.callback_id }) })),
      }),
    it.threadTs && alsoToChannel(it),
  ];
}

const shown = (name, label) => [icon(name), h("span", {}, label)];
const tool = (name, label, onclick) => h("button", { type: "button", class: "bare tool", key: name, onclick }, shown(name, label));

function startWith(it, sign) {
  return (event) => {
    const element = event.currentTarget.closest("form").querySelector("textarea");
    const text = sign === "/" ? "/" : `${element.value}${element.value && !element.value.endsWith(" ") ? " " : ""}@`;
    element.value = text;
    element.focus();
    offerAt(it, element);
  };
}

function alsoToChannel({ draft, channel }) {
  const onchange = (event) => {
    draft.broadcast = event.target.checked;
    change();
  };
  const where = isTalk(channel) ? "the conversation" : `#${channel.name}`;
  return h("label", { class: "also", key: "also" }, h("input", { type: "checkbox", checked: draft.broadcast, onchange }), `Also send to ${where}`);
}

function sendButton({ draft }, testid) {
  const isReady = draft.text.trim() || hasContents(draft);
  return h("button", { type: "submit", key: "send", class: `send${isReady ? " is-ready" : ""}`, "data-testid": testid }, shown("send", "Send"));
}
