// A message's files: name, size, and a preview of text.

import { h } from "./dom.js";
import { size } from "./format.js";
import { icon } from "./icons.js";
import { change, remembered } from "./state.js";

const SHOWN = 4000; // characters
const IS_TEXT = /\.(txt|md|json|csv|log|ya?ml|xml|html|py|js|ts|sh|sql|ini|toml)$/i;

export function files(message) {
  return message.files?.length > 0 && h("ul", { class: "files", key: "files" }, message.files.map((file) => h("li", { key: file.id }, oneFile(file))));
}

function oneFile(file) {
  if (file.clip) return clip(file);
  const look = remembered(`file ${file.id}`, { text: null });
  return h(
    "div",
    { class: "file" },
    h(
      "div",
      { class: "file-head" },
      icon("file"),
      h("a", { href: file.url, target: "_blank", rel: "noopener", download: file.name }, file.name),
      h("small", {}, size(file.size)),
    ),
    file.alt && h("p", { class: "file-alt" }, file.alt),
    IS_TEXT.test(file.name) &&
      h("details", { ontoggle: (event) => event.target.open && preview(file, look) }, h("summary", {}, "Preview"), h("pre", {}, look.text ?? "…")),
  );
}

const TRANSCRIPT = { processing: "Slack is still transcribing this clip…", failed: "Slack couldn't transcribe this clip.", none: "No transcript." };

function clip(file) {
  const { seconds, status, words } = file.clip;
  return h(
    "div",
    { class: "file", "data-testid": "clip" },
    h("div", { class: "file-head" }, icon("voice"), h("b", {}, "Voice clip"), h("small", {}, `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`)),
    h("p", { class: "file-alt" }, status === "complete" ? `“${words}”` : TRANSCRIPT[status]),
  );
}

async function preview(file, look) {
  if (look.text !== null) return;
  try {
    const response = await fetch(file.url);
    const text = response.ok ? await response.text() : `The file couldn't be loaded (HTTP ${response.status}).`;
    look.text = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    look.text = "The file couldn't be loaded.";
  }
  change();
}
