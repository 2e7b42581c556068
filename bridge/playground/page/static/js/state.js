// The state of this window: the server's last response, and what is local.

const here = new URL(location.href).searchParams;
const listeners = new Set();
let isPlanned = false;

/** A name for this window that survives a reload: a modal opens in the window that asked for it. */
function ownName() {
  const made = Math.random().toString(36).slice(2);
  try {
    const name = sessionStorage.getItem("playground-window") ?? made;
    sessionStorage.setItem("playground-window", name);
    return name;
  } catch (error) {
    if (error.name !== "SecurityError") throw error; // some browsers block storage
    return made;
  }
}

export const page = {
  world: null, // the server's last response, see api.js
  window: ownName(),
  since: "now", // when this page was loaded, by the server's clock: earlier private messages are gone
  as: here.get("as") ?? "",
  channel: here.get("channel") ?? "",
  thread: here.get("thread") ?? "",
  tab: "messages", // or "home", in the app's direct message
  drawer: "", // or "wires", "faults"
  traced: null, // {channel, ts} of the message whose trace is shown
  wires: null, // its steps
  editing: "", // the ts of the message being edited
  menu: "", // the key of the open menu
  filling: null, // the open form, see fill.js
  question: null, // the open confirmation, see dialogs.js
  notice: "", // an error message
  isSidebarOpen: false, // on a phone
  isConnected: true,
  emoji: [],
  older: new Map(), // channel → messages older than those in the response
  kept: new Map(), // widgets' state, by their keys
};

/** Change the state, and schedule a drawing. */
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

/** A widget's state: an object that lives as long as the window. */
export function remembered(key, initial = {}) {
  if (!page.kept.has(key)) page.kept.set(key, { ...initial });
  return page.kept.get(key);
}

export function forget(prefix) {
  for (const key of page.kept.keys()) if (key.startsWith(prefix)) page.kept.delete(key);
}

export const person = (id) => page.world?.people.find((one) => one.id === id);
/** The author's display name. */
export const author = (message) => person(message.user)?.real_name ?? message.name;

export const channelById = (id) => page.world?.channels.find((one) => one.id === id);
export const bot = () => page.world?.people.find((one) => one.is_bot && isOurs(one));
/** A direct or group message. */
export const isTalk = (channel) => channel?.kind === "im" || channel?.kind === "mpim";
export const isWithBot = (channel) => channel?.kind === "im" && channel.with === bot()?.id;

/** Our app has a direct message with each person; other bots have none. */
function isOurs(one) {
  return one.name === "bridge" || page.world.channels.some((channel) => channel.kind === "im" && channel.with === one.id);
}

/** A channel's or direct message's name in sentences and menus. */
export function placeName(channel) {
  if (channel.kind === "im") return person(channel.with)?.real_name ?? channel.name;
  return channel.kind === "mpim" ? channel.name : `#${channel.name}`;
}

/** The open conversation, once the server has sent it. */
export function shownChannel() {
  const channel = page.world?.channel;
  return channel && channel.id === page.channel ? channel : null;
}

export function shownThread() {
  const thread = page.world?.thread;
  return thread && thread.ts === page.thread && shownChannel() ? thread : null;
}

/** Keep the selection in the address, so that a window can be reopened, also as someone else. */
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
