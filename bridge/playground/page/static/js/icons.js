// The page's own icons, on a 20 × 20 grid.

import { h, svg } from "./dom.js";

const PATHS = {
  add: "M10 4v12M4 10h12",
  at: "M13.5 10a3.5 3.5 0 1 1-7 0 3.5 3.5 0 0 1 7 0zm0 0v1a2 2 0 0 0 4 0v-1a7.5 7.5 0 1 0-3 6",
  bolt: "M11 2 4 11.5h5L8 18l7-9.5h-5z",
  check: "m4 10.5 4 4 8-9",
  chevron: "m6 8 4 4 4-4",
  close: "m5 5 10 10M15 5 5 15",
  file: "M5 2.5h6.5L15.5 6.5v11h-10.5zM11.5 2.5v4h4",
  hash: "M8 3 6.5 17M13.5 3 12 17M3.5 7.5h13M3 12.5h13",
  home: "M3 9.5 10 3.5l7 6M5 8.5v8h10v-8M8.5 16.5v-4.5h3v4.5",
  lock: "M5 9h10v8H5zM7 9V6.5a3 3 0 0 1 6 0V9",
  menu: "M3 5.5h14M3 10h14M3 14.5h14",
  moon: "M16.5 11.5A6.8 6.8 0 0 1 8.5 3.5a6.8 6.8 0 1 0 8 8z",
  more: "M4.5 10h.01M10 10h.01M15.5 10h.01",
  people: "M10 6.5a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0zM3 16.5a4.5 4.5 0 0 1 9 0M12.5 4.2a2.5 2.5 0 0 1 0 4.6M14 12.4a4.5 4.5 0 0 1 3 4.1",
  reply: "M3 4.5h14v9.5h-8l-4 3v-3H3zM6.5 8h7M6.5 10.8h4.5",
  send: "M3.5 3.5 17 10 3.5 16.5 5.5 10zM5.5 10H10",
  share: "M8 5H4v11h11v-4M11 3.5h5.5V9M16 4 9 11",
  slash: "M12.5 3.5 7.5 16.5",
  smile: "M17 10a7 7 0 1 1-14 0 7 7 0 0 1 14 0zM7.5 8h.01M12.5 8h.01M7 12c1.5 2 4.5 2 6 0",
  stop: "M6 6h8v8H6z",
  sun: "M13 10a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM10 2.5v1.5M10 16v1.5M2.5 10H4M16 10h1.5M4.7 4.7l1 1M14.3 14.3l1 1M15.3 4.7l-1 1M5.7 14.3l-1 1",
  warning: "M10 3 18 17H2zM10 8v4M10 14.5h.01",
  wires: "M3 5.5h6a3 3 0 0 1 3 3v3a3 3 0 0 0 3 3h2M3 14.5h3M14 5.5h3M3 5.5h.01M17 14.5h.01",
  table: "M3 4.5h14v11H3zM3 8.2h14M3 11.9h14M8 4.5v11",
  voice: "M10 3a2 2 0 0 1 2 2v5a2 2 0 0 1-4 0V5a2 2 0 0 1 2-2zM5.5 9.5a4.5 4.5 0 0 0 9 0M10 14v3M7.5 17h5",
  up: "M7 9V17H3.5V9zM7 9l3-6.5c2 0 2.5 1.5 2 3L11.5 8H16l-1.5 9H7",
  down: "M7 11V3H3.5v8zM7 11l3 6.5c2 0 2.5-1.5 2-3L11.5 12H16l-1.5-9H7",
};

/** A bare button to close something. */
export const closeButton = (onclick, label = "Close") =>
  h("button", { type: "button", class: "bare", "aria-label": label, "data-short": label.split(" ")[0], title: label, onclick }, icon("close"));

export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 20 20", "aria-hidden": "true" }, svg("path", { d: PATHS[name], "stroke-width": name === "more" ? 2.6 : null }));
}
