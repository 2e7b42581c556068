// The server says that something has changed; the page then fetches what it shows.
//
// A browser opens six connections to one server, and a stream holds one of them. So all windows of a browser share one
// stream: the window that holds a lock listens, and passes the news on. When it closes or is hidden, the next one listens.

import { fetchWires, refresh } from "./api.js";
import { change, page } from "./state.js";

const SHARED = "playground-stream";
const AGAIN_AFTER = 1000; // milliseconds
const windows = new BroadcastChannel(SHARED);
let turn = null; // this window's turn to listen, or its wait for one

/** Listen, or wait until no other window does. A hidden window needs no news. */
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

/** Hold the stream until *signal* says that it is over. */
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

/** An EventSource tries again by itself, but not after an answer that is no stream. */
function again() {
  stopListening();
  setTimeout(listen, AGAIN_AFTER);
}

export function followVisibility() {
  windows.addEventListener("message", (event) => take(event.data));
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return stopListening();
    take("changed"); // whatever it missed
    listen();
  });
  window.addEventListener("pagehide", stopListening);
}
