// Attachments of a draft: files, a table, a voice clip.

import { h } from "./dom.js";
import { fill, inputField } from "./fill.js";
import { size } from "./format.js";
import { closeButton, icon } from "./icons.js";
import { change } from "./state.js";

const MOST_FILE = 1_000_000; // bytes
const IS_IMAGE = /\.(png|jpe?g|gif|webp|svg)$/i;
const TRANSCRIPTS = [
  { value: "ready", label: "Ready immediately" },
  { value: "later", label: "Ready after 10 s" },
  { value: "never", label: "Fails" },
];

export const nothing = () => ({ files: [], table: null, clip: null });
export const hasContents = ({ files, table, clip }) => files.length > 0 || !!table || !!clip;

/** Attachments as the server expects them, without empty fields. */
export function sent({ files, table, clip }) {
  return {
    ...(files.length ? { files: files.map(({ name, base64, alt }) => ({ name, base64, ...(alt ? { alt_txt: alt } : {}) })) } : {}),
    ...(table ? { table } : {}),
    ...(clip ? { clip } : {}),
  };
}

export const attachChoices = (draft) => [
  { label: "File…", hint: "Text, image or document", run: () => chooseFiles(draft) },
  { label: "Table…", hint: "Or paste cells into your message", run: () => writeTable(draft) },
  { label: "Voice clip…", hint: "With Slack's transcript", run: () => recordClip(draft) },
];

export function chosen(draft) {
  if (!hasContents(draft)) return null;
  const { files, table, clip } = draft;
  return h(
    "ul",
    { class: "chosen-files", key: "files", "aria-label": "Attached" },
    files.map((file) => item(file.name, "file", () => (draft.files = draft.files.filter((one) => one !== file)), IS_IMAGE.test(file.name) && describe(file))),
    table && item(`Table, ${table.length} × ${Math.max(...table.map((row) => row.length))}`, "table", () => (draft.table = null)),
    clip && item(`Voice clip: ${shortened(clip.words)}`, "voice", () => (draft.clip = null)),
  );
}

const shortened = (words) => (words.length > 40 ? `${words.slice(0, 40)}…` : words);

function item(name, sign, remove, more = null) {
  const onclick = () => {
    remove();
    change();
  };
  return h("li", { key: name }, icon(sign), name, more, closeButton(onclick, `Remove ${name}`));
}

function describe(file) {
  const oninput = (event) => {
    file.alt = event.target.value;
  };
  const label = `Description of ${file.name}`;
  return h("input", { class: "control", "aria-label": label, placeholder: "Describe it (alt text)", value: file.alt, oninput });
}

function chooseFiles(draft) {
  const input = Object.assign(document.createElement("input"), { type: "file", multiple: true });
  input.onchange = async () => {
    for (const file of input.files) await take(draft, file);
  };
  input.click();
}

async function take(draft, file) {
  if (file.size > MOST_FILE) return change({ notice: `${file.name} is ${size(file.size)}. Files can be up to ${size(MOST_FILE)} here.` });
  draft.files = [...draft.files, { name: file.name, base64: base64(new Uint8Array(await file.arrayBuffer())), alt: "" }];
  return change();
}

function base64(bytes) {
  let characters = "";
  for (const byte of bytes) characters += String.fromCharCode(byte);
  return btoa(characters);
}

async function writeTable(draft) {
  const filled = await fill({
    title: "Attach a table",
    confirm: "Attach table",
    fields: [inputField("cells", "Cells", { rows: 6, value: draft.table ? asText(draft.table) : EXAMPLE, hint: "One row per line. Separate cells with commas or tabs." })],
  });
  if (!filled) return;
  draft.table = rowsOf(filled.cells);
  change();
}

const EXAMPLE = "Product, Price, Stock\nTeapot, 12.5, 40\nCup, 4, 120";
const asText = (rows) => rows.map((row) => row.join("\t")).join("\n");

function rowsOf(text) {
  const lines = text.split("\n").filter((line) => line.trim());
  return lines.map((line) => line.split(text.includes("\t") ? "\t" : ",").map((cell) => cell.trim()));
}

/** Attach cells pasted from a spreadsheet (tab-separated) as a table, like Slack. */
export function takeTable(draft, event) {
  const text = event.clipboardData?.getData("text/plain") ?? "";
  const html = event.clipboardData?.getData("text/html") ?? "";
  if (!text.includes("\t") || !/<table/i.test(html)) return;
  event.preventDefault();
  draft.table = rowsOf(text);
  change();
}

async function recordClip(draft) {
  const filled = await fill({
    title: "Attach a voice clip",
    confirm: "Attach clip",
    fields: [
      inputField("words", "What you say", { rows: 3, value: draft.clip?.words ?? "", hint: "Nothing is recorded. This text becomes the transcript." }),
      inputField("transcript", "Slack's transcript", { options: TRANSCRIPTS, value: draft.clip?.transcript ?? "ready" }),
    ],
  });
  if (!filled) return;
  draft.clip = filled;
  change();
}
