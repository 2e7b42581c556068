// Forwarded messages, group messages, and alerts of other apps.

import { goTo } from "./actions.js";
import { act } from "./api.js";
import { h } from "./dom.js";
import { fill, inputField } from "./fill.js";
import { author, bot, page, placeName } from "./state.js";

const wordless = (one) => (one.files?.length ? one.files.map((file) => file.name).join(", ") : `A message from ${author(one)}`);

export async function forward(one) {
  const places = page.world.channels.filter((channel) => !channel.is_archived).map((channel) => ({ value: channel.id, label: placeName(channel) }));
  const filled = await fill({
    title: "Forward message",
    confirm: "Forward",
    about: h("blockquote", { class: "forwarded", key: "about" }, h("b", {}, author(one)), h("p", {}, one.text || wordless(one))),
    fields: [
      inputField("to", "To", { options: places, value: page.channel }),
      inputField("comment", "Comment", { rows: 2, optional: true, hint: "Mention @bridge to ask about it in a channel." }),
    ],
  });
  if (!filled) return;
  const answer = await act("forward", { channel: one.channel, ts: one.ts, ...filled });
  if (answer.ok && filled.to !== page.channel) goTo(filled.to);
}

export async function startGroup() {
  const app = bot()?.id;
  const others = page.world.people.filter((one) => one.id !== page.as && (!one.is_bot || one.id === app));
  const filled = await fill({
    title: "New group message",
    confirm: "Start",
    fields: [inputField("users", "People", { many: true, value: app ? [app] : [], options: others.map((one) => ({ value: one.id, label: one.real_name })) })],
  });
  if (!filled) return;
  const answer = await act("start_group", filled);
  if (answer.ok) goTo(answer.channel);
}

const SENDERS = [
  { value: "webhook", label: "Monitoring (incoming webhook)" },
  { value: "bot", label: "Other Bot (bot user)" },
  { value: "token", label: "You (Other Bot has your token)" },
];
const FORMS = [
  { value: "attachment", label: "Attachment, like most alerts" },
  { value: "blocks", label: "Blocks" },
];

export async function letAppPost(channel) {
  const filled = await fill({
    title: "Post as an app",
    confirm: "Post alert",
    fields: [
      inputField("title", "Title", { value: "Checkout is failing" }),
      inputField("text", "Text", { rows: 3, value: "Error rate *12%* on checkout-7, threshold 2%." }),
      inputField("by", "Posted by", { options: SENDERS, value: "webhook" }),
      inputField("form", "Format", { options: FORMS, value: "attachment" }),
    ],
  });
  if (filled) await act("app_posts", { channel: channel.id, ...filled });
}

export async function letAppEdit(one) {
  const filled = await fill({
    title: "Edit as the app",
    confirm: "Save",
    fields: [
      inputField("title", "Title", { value: "Checkout works again" }),
      inputField("text", "Text", { rows: 3, value: "Error rate *1%* on checkout-7, threshold 2%." }),
    ],
  });
  if (filled) await act("app_edits", { channel: one.channel, ts: one.ts, ...filled });
}
