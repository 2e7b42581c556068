// The thread panel.

import { closeThread } from "./actions.js";
import { composer } from "./composer.js";
import { h } from "./dom.js";
import { closeButton } from "./icons.js";
import { statusLine } from "./message.js";
import { messageList, threadKey } from "./messages.js";
import { channelById, page, placeName, shownThread } from "./state.js";

export function threadPanel() {
  const channel = channelById(page.channel);
  if (!page.thread || !channel) return null;
  const thread = shownThread();
  const where = placeName(channel);
  return h(
    "aside",
    { class: "panel thread", key: "thread", "data-testid": "thread-panel", "aria-label": `Thread in ${where}`, onkeydown: (event) => event.key === "Escape" && closeThread() },
    h(
      "header",
      { class: "panel-head", key: "head" },
      h("h2", {}, "Thread", h("small", {}, where)),
      closeButton(closeThread, "Close thread"),
    ),
    thread ? list(thread) : h("div", { class: "scroll-frame", key: "loading", "aria-busy": "true" }),
    !channel.is_archived &&
      composer({ channel, threadTs: page.thread, label: "Reply…", testid: "thread-composer", sendTestid: "thread-send" }),
  );
}

function list(thread) {
  const [root] = thread.messages;
  return messageList(thread.messages, {
    key: threadKey(thread.ts),
    label: "Messages in this thread",
    inThread: true,
    after: statusLine(root ?? page.world.messages.find((one) => one.ts === thread.ts)),
  });
}
