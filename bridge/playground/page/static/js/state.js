// What this window shows: the workspace as the server told it last, and what only this window knows.

const here = new URL(location.href).searchParams;
const listeners = new Set();
let isPlanned = false;

/** What tells this window from others, also once it was loaded again: a form opens where it was asked for. */
function ownName() {
  const made = Math.random().toString(36).slice(2);
  try {
    const name = sessionStorage.getItem("playground-window") ?? made;
    sessionStorage.setItem("playground-window", name);
    return name;
  } catch (error) {
    if (error.name !== "SecurityError") throw error; // some browsers are told to keep nothing
    return made;
  }
}

export const page = {
  world: null, // the server's last state, see api.js
  window: ownName(),
  as: here.get("as") ?? "",
  channel: here.get("channel") ?? "",
  thread: here.get("thread") ?? "",
  tab: "messages", // or "home", in the app's direct message
  drawer: "", // or "wires", "faults"
  traced: null, // {channel, ts}: the message whose wires are shown
  wires: null, // its steps
  editing: "", // the ts of the message that is being edited
  menu: "", // the key of the menu that is open
  filling: null, // a form of the page itself, see fill.js
  question: null, // a confirmation that waits for its answer, see dialogs.js
  notice: "", // one sentence about what went wrong
  isSidebarOpen: false, // on a phone
  isConnected: true,
  emoji: [],
  older: new Map(), // channel → messages before those that the server sends
  kept: new Map(), // what widgets remember between two drawings, by their keys
};

/** Change what is shown, and draw it soon. */
export function change(changes = {}) {
  Object.assign(page, changes);
  if (isPlanned) return;
  isPlanned = true;
  queueMicrotask(() => {
    isPlanned = false;
    listeners.forEach((listener) => listener());
  });
}

export function onChange(listener) {
  listeners.add(listener);
}

/** What a widget remembers: an object of its own, as long as the window lives. */
export function remembered(key, initial = {}) {
  if (!page.kept.has(key)) page.kept.set(key, { ...initial });
  return page.kept.get(key);
}

export function forget(prefix) {
  for (const key of page.kept.keys()) if (key.startsWith(prefix)) page.kept.delete(key);
}

export const person = (id) => page.world?.people.find((one) => one.id === id);
/** Who wrote a message, by the name that people go by. */
export const author = (message) => person(message.user)?.real_name ?? message.name;

export const channelById = (id) => page.world?.channels.find((one) => one.id === id);
export const bot = () => page.world?.people.find((one) => one.is_bot && isOurs(one));
/** A direct message, of two or of several people. */
export const isTalk = (channel) => channel?.kind === "im" || channel?.kind === "mpim";
export const isWithBot = (channel) => channel?.kind === "im" && channel.with === bot()?.id;

/** The app has a direct message with each of us; other bots have none. */
function isOurs(one) {
  return one.name === "bridge" || page.world.channels.some((channel) => channel.kind === "im" && channel.with === one.id);
}

/** The conversation on show, once the server has sent it. */
export function shownChannel() {
  const channel = page.world?.channel;
  return channel && channel.id === page.channel ? channel : null;
}

export function shownThread() {
  const thread = page.world?.thread;
  return thread && thread.ts === page.thread && shownChannel() ? thread : null;
}

/** Keep what is shown in the address, so that a window can be opened again, and as somebody else. */
export function keepAddress({ isStep = false } = {}) {
  const address = addressOf({ as: page.as, channel: page.channel, thread: page.thread });
  if (address === location.pathname + location.search) return;
  history[isStep ? "pushState" : "replaceState"](null, "", address);
}

export function addressOf(parts) {
  const query = new URLSearchParams(Object.entries(parts).filter(([, value]) => value));
  return `${location.pathname}?${query}`;
}

export function readAddress() {
  const query = new URL(location.href).searchParams;
  change({ channel: query.get("channel") ?? page.channel, thread: query.get("thread") ?? "" });
}
