// The server says that something has changed; the page then fetches what it shows.

import { fetchWires, refresh } from "./api.js";
import { change, page } from "./state.js";

let source = null;
let listensAs = "";

/** Listen for this person's changes. A window that nobody sees does not: browsers open few connections to one place. */
export function listen() {
  if (document.hidden || (source && listensAs === page.as)) return;
  stopListening();
  listensAs = page.as;
  source = new EventSource(`/page/stream?as=${encodeURIComponent(page.as)}`);
  source.addEventListener("changed", onChanged);
  source.onerror = () => {
    change({ isConnected: false });
    if (source?.readyState === EventSource.CLOSED) again();
  };
}

export function stopListening() {
  source?.close();
  source = null;
}

function onChanged() {
  refresh();
  if (page.drawer === "wires") fetchWires();
}

/** An EventSource tries again by itself, but not after an answer that is no stream. */
function again() {
  stopListening();
  setTimeout(listen, 1000);
}

export function followVisibility() {
  document.addEventListener("visibilitychange", () => (document.hidden ? stopListening() : listen()));
  window.addEventListener("pagehide", stopListening);
}
