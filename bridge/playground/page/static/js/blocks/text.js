// Texts. What people or the app wrote comes from the server as sanitised HTML, in `html` and nowhere else.

import { h } from "../dom.js";

/** A text object, inside a line. */
export function words(text) {
  if (!text) return null;
  return text.html === undefined ? text.text : h("span", { class: "words", html: text.html });
}

/** A text object, or a block with text, as paragraphs. */
export function prose(text, look = "prose") {
  return text.html === undefined ? h("div", { class: look }, text.text) : h("div", { class: look, html: text.html });
}
