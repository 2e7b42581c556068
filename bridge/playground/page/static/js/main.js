// The page's layout, and what redraws it.

import { announceNews } from "./a11y.js";
import { act, refresh } from "./api.js";
import { conversation } from "./conversation.js";
import { question } from "./dialogs.js";
import { draw, h } from "./dom.js";
import { drawer } from "./drawer.js";
import { filling } from "./fill.js";
import { keepMenusInPlace } from "./menu.js";
import { followMentions } from "./message.js";
import { followErrors, forgetClosedViews, modal } from "./modal.js";
import { sidebar, sidebarVeil } from "./sidebar.js";
import { channelById, change, isTalk, onChange, page, readAddress } from "./state.js";
import { followVisibility, listen } from "./stream.js";
import { threadPanel } from "./thread.js";
import { topbar, troubles } from "./topbar.js";

const root = document.getElementById("page");

function drawPage() {
  if (!page.world) return draw(root, h("p", { class: "waiting" }, page.isConnected ? "Opening the playground…" : "Waiting for the playground…"));
  const open = `${page.thread ? " has-thread" : ""}${page.drawer ? " has-drawer" : ""}`;
  document.title = titleOf();
  return draw(
    root,
    h("div", { class: "troubles", key: "troubles" }, troubles()),
    topbar(),
    h("div", { class: `columns${open}`, key: "columns" }, sidebar(), sidebarVeil(), conversation(), threadPanel(), drawer()),
    modal(),
    filling(),
    question(),
  );
}

function titleOf() {
  const channel = channelById(page.channel);
  return `${channel ? `${isTalk(channel) ? "" : "#"}${channel.name} · ` : ""}Playground`;
}

/** After each response: announce new messages, mark them as read, forget closed views. */
let seen = null;

function followWorld() {
  if (!page.world || page.world === seen) return;
  seen = page.world;
  announceNews();
  forgetClosedViews();
  followErrors();
  listen();
  if (channelById(page.channel)?.unread && !document.hidden) act("read", { channel: page.channel }, { isQuiet: true });
}

onChange(drawPage);
onChange(followWorld);
keepMenusInPlace();
followVisibility();
document.addEventListener("click", followMentions);
window.addEventListener("popstate", () => (readAddress(), refresh()));
window.addEventListener("resize", () => change());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => change());
drawPage();
refresh();
