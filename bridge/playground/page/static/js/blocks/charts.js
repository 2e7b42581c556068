// Charts as SVG, with a table of the same numbers for screen readers.

import { h, svg } from "../dom.js";
import { plot } from "./plots.js";

const RADIUS = 80;

export function chart(block) {
  const { chart: wanted, title } = block;
  const isPie = wanted.type === "pie";
  const names = isPie ? wanted.segments.map(({ label, value }) => `${label} ${value.toLocaleString()} (${share(value, wanted.segments)})`) : wanted.series.map((one) => one.name);
  return h(
    "figure",
    { class: "chart" },
    h("figcaption", {}, title),
    isPie ? pie(wanted.segments, title) : plot(wanted, title),
    (isPie || names.length > 1) && h("ul", { class: "legend", "aria-hidden": "true" }, names.map(legendLine)),
    numbers(wanted, title),
  );
}

const legendLine = (name, index) => h("li", {}, h("span", { class: `swatch tone-${index}` }), name);

const total = (segments) => segments.reduce((sum, one) => sum + Math.max(0, one.value), 0) || 1;

const share = (value, segments) => `${Math.round((100 * Math.max(0, value)) / total(segments))}%`;

function pie(segments, title) {
  let from = 0;
  const slices = segments.map((one, index) => {
    const part = Math.max(0, one.value) / total(segments);
    const slice = svg("path", { class: `tone-${index}`, d: wedge(from, from + part) }, svg("title", {}, `${one.label}: ${one.value.toLocaleString()}`));
    from += part;
    return slice;
  });
  return svg("svg", { class: "pie", viewBox: "-84 -84 168 168", role: "img", "aria-label": `Pie chart: ${title}` }, slices);
}

/** A wedge between two fractions of the circle, clockwise from the top. */
function wedge(from, to) {
  const end = Math.min(to, from + 0.99999); // a full arc would be drawn as nothing
  const [x1, y1, x2, y2] = [...point(from), ...point(end)];
  return `M0 0L${x1} ${y1}A${RADIUS} ${RADIUS} 0 ${end - from > 0.5 ? 1 : 0} 1 ${x2} ${y2}Z`;
}

function point(part) {
  const angle = 2 * Math.PI * part - Math.PI / 2;
  return [Math.cos(angle) * RADIUS, Math.sin(angle) * RADIUS].map((number) => number.toFixed(2));
}

function numbers(wanted, title) {
  const [head, rows] =
    wanted.type === "pie"
      ? [["", "Value"], wanted.segments.map((one) => [one.label, one.value])]
      : [["", ...wanted.series.map((one) => one.name)], seriesRows(wanted)];
  return h(
    "table",
    { class: "unseen" },
    h("caption", {}, title),
    h("thead", {}, h("tr", {}, head.map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, rows.map(([name, ...values]) => h("tr", {}, h("th", { scope: "row" }, name), values.map((one) => h("td", {}, one?.toLocaleString() ?? "–"))))),
  );
}

const seriesRows = ({ series, axis_config: axes }) =>
  axes.categories.map((name) => [name, ...series.map((one) => one.data.find((each) => each.label === name)?.value)]);
