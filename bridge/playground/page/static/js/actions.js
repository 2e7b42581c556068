// Navigation: open and close parts of the page.

import { focusOn } from "./a11y.js";
import { act, fetchWires, refresh } from "./api.js";
import { change, channelById, isTalk, isWithBot, keepAddress, page } from "./state.js";
import { listen } from "./stream.js";

/** Open a conversation. */
export function goTo(channel, { tab = "messages" } = {}) {
  const isOther = channel !== page.channel;
  change({ channel, tab, isSidebarOpen: false, menu: "", editing: "", ...(isOther ? { thread: "" } : {}) });
  keepAddress({ isStep: isOther });
  refresh();
  if (isWithBot(channelById(channel))) act(tab === "home" ? "open_home" : "open_messages", {}, { isQuiet: true });
  focusOn("[data-testid=composer]");
}

const BOTH_PANELS = 1400; // pixels: narrower windows show the drawer instead of the thread, see frame.css

export function openThread(ts) {
  change({ thread: ts, menu: "", ...(innerWidth < BOTH_PANELS ? { drawer: "" } : {}) });
  keepAddress({ isStep: true });
  refresh();
  focusOn("[data-testid=thread-composer]");
}

export function closeThread() {
  const ts = page.thread;
  change({ thread: "" });
  keepAddress({ isStep: true });
  focusOn(`[data-testid=message][data-ts="${ts}"]`);
}

/** Switch to another person in this window. */
export function become(as) {
  page.older.clear();
  page.kept.clear();
  change({ as, thread: "", editing: "", traced: null, wires: null, drawer: page.drawer === "wires" ? "" : page.drawer });
  const goesOn = !isTalk(channelById(page.channel));
  change({ channel: goesOn ? page.channel : "", tab: "messages" });
  keepAddress();
  listen();
  refresh();
}

export function showWires(channel, ts) {
  change({ drawer: "wires", traced: { channel, ts }, wires: null, menu: "" });
  fetchWires();
  focusOn("[data-testid=drawer] h2");
}

export function toggleDrawer(tab = "faults") {
  change({ drawer: page.drawer ? "" : tab });
}
