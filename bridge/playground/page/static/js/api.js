// All requests to the playground's server; the page makes no others.

import { change, keepAddress, page } from "./state.js";

const SILENT = "The playground isn't responding. Is it still running?";
const AGAIN_AFTER = 1000; // milliseconds
let isAsking = false;
let isStale = false;

/** Perform an action as the person of this window. Returns the response; an error is shown until the next action. */
export async function act(action, body = {}, { isQuiet = false } = {}) {
  if (!isQuiet) change({ notice: "" });
  const answer = await post(`/page/do/${action}?${new URLSearchParams({ as: page.as, window: page.window })}`, body);
  if (!answer.ok && !isQuiet) change({ notice: answer.error });
  if (answer.ok) refresh();
  return answer;
}

async function post(url, body) {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    return await response.json();
  } catch (error) {
    if (error instanceof TypeError) return { ok: false, error: SILENT };
    if (error instanceof SyntaxError) return { ok: false, error: "The playground sent a response that isn't JSON." };
    throw error;
  }
}

/** Fetch the state: one request at a time, and another if something changed meanwhile. */
export async function refresh() {
  isStale = true;
  if (isAsking) return;
  isAsking = true;
  while (isStale) {
    isStale = false;
    await fetchState();
  }
  isAsking = false;
}

async function fetchState() {
  const asked = selection();
  const world = await get("/page/state", { ...asked, window: page.window, since: page.since, full: page.emoji.length ? "" : "1" });
  if (!world) return;
  const now = selection();
  if (asked.as !== now.as || asked.channel !== now.channel || asked.thread !== now.thread) {
    isStale = true;
    return;
  }
  take(world);
}

const selection = () => ({ as: page.as, channel: page.channel, thread: page.thread });

function take(world) {
  keepOlder(world);
  const channel = world.channel?.id ?? "";
  change({
    world,
    as: world.me.id,
    since: page.since === "now" ? (world.since ?? "now") : page.since,
    channel,
    thread: world.thread && (channel === page.channel || !page.channel) ? page.thread : "", // not one that is gone
    emoji: world.emoji?.length ? world.emoji : page.emoji,
    isConnected: true,
  });
  keepAddress();
}

/** The server sends only the newest messages: keep those that newer ones pushed out. */
function keepOlder(world) {
  const before = page.world;
  if (!world.has_older || before?.channel?.id !== world.channel?.id || before.me.id !== world.me.id) return;
  const first = world.messages[0]?.ts ?? "";
  const pushedOut = before.messages.filter((message) => message.ts < first);
  if (pushedOut.length) addOlder(world.channel.id, pushedOut);
}

function addOlder(channel, messages) {
  const all = new Map([...(page.older.get(channel)?.messages ?? []), ...messages].map((one) => [one.ts, one]));
  const sorted = [...all.values()].sort((a, b) => (a.ts < b.ts ? -1 : 1));
  page.older.set(channel, { ...page.older.get(channel), messages: sorted });
}

export async function fetchOlder(before) {
  const channel = page.channel;
  const world = await get("/page/state", { as: page.as, channel, before, since: page.since });
  if (!world) return;
  addOlder(channel, world.messages);
  page.older.get(channel).isWhole = !world.has_older;
  change();
}

export async function fetchWires() {
  const { traced } = page;
  if (!traced) return;
  const answer = await get("/page/wires", { as: page.as, ...traced });
  if (answer && traced === page.traced) change({ wires: answer.steps });
}

async function get(path, query) {
  const wanted = Object.entries(query).filter(([, value]) => value);
  try {
    const response = await fetch(`${path}?${new URLSearchParams(wanted)}`, { cache: "no-store" });
    if (!response.ok) return await refused(response);
    return await response.json();
  } catch (error) {
    if (!(error instanceof TypeError) && !(error instanceof SyntaxError)) throw error;
    change({ isConnected: false });
    setTimeout(refresh, AGAIN_AFTER);
    return null;
  }
}

/** A person or channel in an old address may be gone: fall back to the default. */
async function refused(response) {
  if (response.status === 404 && (page.channel || page.thread)) {
    change({ channel: "", thread: "" });
    isStale = true;
  } else if (response.status === 404 && page.as) {
    change({ as: "" });
    isStale = true;
  } else {
    change({ isConnected: false });
    setTimeout(refresh, AGAIN_AFTER);
  }
  return null;
}
