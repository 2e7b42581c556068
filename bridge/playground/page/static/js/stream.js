// The server announces changes; the page then fetches its state.
//
// A browser opens six connections to a server, and a stream holds one of them. So all windows of a browser share one
// stream: the window that holds a lock listens, and tells the others. When it closes or is hidden, another one takes over.

import { fetchWires, refresh } from "./api.js";
import { change, page } from "./state.js";

const SHARED = "playground-stream";
const AGAIN_AFTER = 1000; // milliseconds
const windows = new BroadcastChannel(SHARED);
let turn = null; // aborts this window's listening, or its wait for the lock

/** Listen, or wait until no other window does. Hidden windows don't. */
export function listen() {
  if (turn || document.hidden) return;
  turn = new AbortController();
  const { signal } = turn;
  navigator.locks.request(SHARED, { signal }, () => listening(signal)).catch((error) => {
    if (error.name !== "AbortError") throw error;
  });
}

function stopListening() {
  turn?.abort();
  turn = null;
}

/** Hold the stream until `signal` aborts. */
function listening(signal) {
  const source = new EventSource("/page/stream");
  source.addEventListener("changed", () => tell("changed"));
  source.addEventListener("error", () => {
    tell("lost");
    if (source.readyState === EventSource.CLOSED) again();
  });
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => {
      source.close();
      resolve();
    });
  });
}

function tell(news) {
  windows.postMessage(news);
  take(news);
}

function take(news) {
  if (document.hidden) return;
  if (news === "lost") return change({ isConnected: false });
  refresh();
  if (page.drawer === "wires") fetchWires();
}

/** An EventSource reconnects by itself, but not after a response that isn't a stream. */
function again() {
  stopListening();
  setTimeout(listen, AGAIN_AFTER);
}

export function followVisibility() {
  windows.addEventListener("message", (event) => take(event.data));
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return stopListening();
    take("changed"); // catch up
    listen();
  });
  window.addEventListener("pagehide", stopListening);
}
