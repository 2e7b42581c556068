// The middle: a channel or a direct message, with suggestions while it is empty.

import { goTo } from "./actions.js";
import { composer } from "./composer.js";
import { h } from "./dom.js";
import { counted } from "./format.js";
import { home } from "./home.js";
import { icon } from "./icons.js";
import { allMessages, hasOlder, listKey, messageList, olderButton } from "./messages.js";
import { letAppPost } from "./others.js";
import { bot, channelById, isWithBot, page, person, placeName, shownChannel } from "./state.js";
import { sayAndFollow, stepCards, stepLine } from "./steps.js";

export function conversation() {
  const known = channelById(page.channel);
  if (!known) return h("main", { class: "main", id: "conversation", key: "main" }, h("p", { class: "nothing" }, "Choose a channel."));
  const isHome = isWithBot(known) && page.tab === "home";
  return h(
    "main",
    { class: "main", id: "conversation", key: "main", tabindex: -1, "aria-label": known.name },
    header(known),
    isWithBot(known) && tabs(known),
    isHome ? home() : talk(known),
  );
}

function header(known) {
  const channel = shownChannel();
  const shared = known.is_shared ? "shared with another company" : "";
  const size = channel && known.kind !== "im" ? counted(channel.members.length, "member") : "";
  const who = known.kind === "im" ? person(known.with) : null;
  return h(
    "header",
    { class: "main-head", key: "head" },
    h("h2", {}, known.kind !== "im" && icon({ group: "lock", mpim: "people" }[known.kind] ?? "hash"), h("span", { class: "main-name" }, who?.real_name ?? known.name), who?.is_bot && h("span", { class: "badge" }, "APP")),
    h("p", {}, [size, shared, channel && known.kind !== "im" && !channel.bot_is_in ? `${bot()?.real_name ?? "the app"} isn't in this channel` : ""].filter(Boolean).join(" · ")),
    known.kind !== "im" && h("button", { type: "button", class: "button is-small", key: "app", onclick: () => letAppPost(known) }, "Post as an app…"),
  );
}

function tabs(known) {
  const tab = (name, label) =>
    h(
      "button",
      { type: "button", role: "tab", key: name, id: `tab-${name}`, "aria-selected": String(page.tab === name), onclick: () => goTo(known.id, { tab: name }) },
      label,
    );
  return h("div", { class: "tabs", role: "tablist", key: "tabs", "aria-label": known.name }, tab("home", "Home"), tab("messages", "Messages"));
}

function talk(known) {
  const channel = shownChannel();
  const label = `Message ${placeName(known)}`;
  return [
    channel ? list(known) : h("div", { class: "scroll-frame", key: "loading", "aria-busy": "true" }),
    channel && allMessages(page.world).length > 0 && stepLine(known),
    known.is_archived
      ? h("p", { class: "archived", key: "archived" }, "This channel is archived. Nobody can post here.")
      : composer({ channel: known, label, hint: hint(known, label), testid: "composer", sendTestid: "send" }),
  ];
}

const CHARACTER = 8; // pixels
const FRAME = 340; // pixels: the channels, and the composer's margins
const PANEL = 360; // pixels

/** A hint in the composer after its label, as long as there is room for. */
function hint(known, label) {
  const room = (innerWidth - FRAME - PANEL * (Boolean(page.thread) + Boolean(page.drawer))) / CHARACTER - label.length;
  const agent = shownChannel()?.bot_is_in && !isWithBot(known) && `. Type / for commands, or @${bot()?.name} to ask an agent.`;
  return [agent, ". Type / for commands."].find((one) => one && one.length <= room) ?? "";
}

function list(known) {
  const all = allMessages(page.world);
  const isWhole = !hasOlder(page.world);
  return messageList(all, {
    key: listKey(known.id),
    label: `Messages in ${known.name}`,
    before: isWhole ? welcome(known, !all.length) : olderButton(page.world),
    after: prompts(known, all),
  });
}

/** The top of a conversation, with suggestions while it is empty. */
function welcome(known, isEmpty) {
  const name = placeName(known);
  const about = isWithBot(known) ? "Send a message, and one of the project's agents answers." : `This is the very beginning of ${name.startsWith("#") ? name : `your conversation with ${others(known)}`}.`;
  return h("section", { class: `welcome${isEmpty ? " is-empty" : ""}`, key: "welcome" }, h("h3", {}, name), h("p", {}, about), isEmpty && stepCards(known));
}

const LIST = new Intl.ListFormat("en-GB"); // A, B and C

/** The other members, in a sentence. */
function others(known) {
  if (known.kind === "im") return placeName(known);
  const names = shownChannel().members.filter((id) => id !== page.as).map((id) => person(id)?.real_name).filter(Boolean);
  return LIST.format(names.toSorted());
}

/** The app's suggested prompts, in its direct message. */
function prompts(known, all) {
  const { prompts: offered } = page.world;
  if (!offered?.prompts.length || !isWithBot(known) || all.some((one) => one.is_mine)) return null;
  return h(
    "section",
    { class: "prompts", key: "prompts" },
    offered.title && h("p", {}, offered.title),
    offered.prompts.map((one) =>
      h("button", { type: "button", class: "button", key: one.title, onclick: () => sayAndFollow(one.message, known) }, one.title),
    ),
  );
}
