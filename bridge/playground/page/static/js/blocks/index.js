// Block Kit: one function for each type of block.

import { h } from "../dom.js";
import { actions, contextActions, element as interactive } from "./actions.js";
import { alertBlock, card, carousel, container, plan, taskCard } from "./cards.js";
import { chart } from "./charts.js";
import { field } from "./fields.js";
import { dataTable, table } from "./tables.js";
import { prose, words } from "./text.js";

const BLOCKS = {
  actions,
  alert: alertBlock,
  card: (block, surface) => card(block, surface),
  carousel,
  container: (block, surface) => container(block, blocks(block.child_blocks ?? [], surface)),
  context,
  context_actions: contextActions,
  data_table: dataTable,
  data_visualization: chart,
  divider: () => h("hr", {}),
  file: () => h("p", { class: "context" }, "A file from outside Slack"),
  header: (block) => h("h3", { class: "header" }, words(block.text)),
  image,
  input: field,
  markdown: (block) => prose(block, "prose markdown"),
  plan,
  rich_text: (block) => prose(block, "prose"),
  section,
  table,
  task_card: taskCard,
  video,
};

export function blocks(all, surface) {
  return all.map((block, index) => {
    const key = block.block_id ?? `${block.type} ${index}`;
    const shown = Object.hasOwn(BLOCKS, block.type) ? BLOCKS[block.type](block, surface) : unknown(block);
    return h("div", { class: "block", key, "data-block": block.type }, shown);
  });
}

function section(block, surface) {
  return h(
    "div",
    { class: "section" },
    h(
      "div",
      { class: "section-text" },
      block.text && long(block),
      block.fields && h("div", { class: "fields" }, block.fields.map((text) => prose(text, "field-text"))),
    ),
    block.accessory && h("div", { class: "accessory" }, accessory(block, surface)),
  );
}

const LONG = 700; // characters; about where Slack folds a section

/** Fold a long section behind "See more", unless the app expands it. */
function long(block) {
  if (block.expand || block.text.text.length <= LONG) return prose(block.text);
  return h("details", { class: "long" }, h("summary", {}, h("span", { class: "more-or-less" })), prose(block.text));
}

const accessory = (block, surface) =>
  block.accessory.type === "image" ? picture(block.accessory, "thumbnail") : interactive(block, block.accessory, surface);

function context(block) {
  return h(
    "div",
    { class: "context" },
    block.elements.map((one) => (one.type === "image" ? picture(one, "tiny-picture") : prose(one, "context-text"))),
  );
}

/** Only the page's own images are loaded; others are shown as links. */
function picture(image, look) {
  const url = image.image_url ?? image.slack_file?.url ?? "";
  if (url.startsWith("data:image/") || url.startsWith("/")) return h("img", { class: look, src: url, alt: image.alt_text });
  return h("a", { class: `picture ${look}`, href: safe(url), target: "_blank", rel: "noopener noreferrer", title: url }, image.alt_text || "Picture");
}

const safe = (url) => (/^https?:\/\//i.test(url) ? url : null);

function image(block) {
  return h("figure", {}, block.title && h("figcaption", {}, words(block.title)), picture(block, "image"));
}

function video(block) {
  const url = block.title_url ?? block.video_url;
  return h("p", {}, h("a", { href: safe(url), target: "_blank", rel: "noopener noreferrer" }, words(block.title)), " (video)");
}

/** Show an unknown block as JSON. */
function unknown(block) {
  return h(
    "details",
    { class: "unknown" },
    h("summary", {}, `The playground can't show this block: ${block.type}`),
    h("pre", {}, JSON.stringify(block, null, 2)),
  );
}
