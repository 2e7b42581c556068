// Texts. The server sends those of people and the app as sanitized HTML, in `html` only.

import { h } from "../dom.js";

/** A text object, inline. */
export function words(text) {
  if (!text) return null;
  return text.html === undefined ? text.text : h("span", { class: "words", html: text.html });
}

/** A text object, or a block with text, as paragraphs. */
export function prose(text, look = "prose") {
  return text.html === undefined ? h("div", { class: look }, text.text) : h("div", { class: look, html: text.html });
}
