// Bars, lines and areas over categories.

import { svg } from "../dom.js";

const WIDTH = 480;
const HEIGHT = 180;
const LEFT = 48;
const RIGHT = 8;
const TOP = 16;
const BOTTOM = 34;
const ROOM = WIDTH - LEFT - RIGHT;
const COMPACT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

export function plot({ type, series, axis_config: axes }, title) {
  const values = series.flatMap((one) => one.data.map((each) => each.value));
  const scale = scaleFor(Math.min(0, ...values), Math.max(0, ...values));
  const shapes = { bar: bars, line: lines, area: areas }[type];
  return svg(
    "svg",
    { class: `plot is-${type}`, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${type} chart: ${title}` },
    scale.ticks.map((tick) => gridLine(tick, scale)),
    shapes(series, axes.categories, scale),
    axes.categories.map((name, index) => label(name, index, axes.categories.length)),
    axes.x_label && svg("text", { class: "axis is-x", x: LEFT + ROOM / 2, y: HEIGHT - 2, "text-anchor": "middle" }, axes.x_label),
    axes.y_label && svg("text", { class: "axis", transform: `translate(10 ${HEIGHT / 2}) rotate(-90)`, "text-anchor": "middle" }, axes.y_label),
  );
}

/** Round numbers for the grid, and the position of each value. */
function scaleFor(low, high) {
  const step = niceStep((high - low || 1) / 4);
  const first = Math.floor(low / step) * step;
  const last = Math.max(Math.ceil(high / step) * step, first + step);
  const ticks = Array.from({ length: Math.round((last - first) / step) + 1 }, (_, index) => first + index * step);
  return { ticks, at: (value) => TOP + ((last - value) / (last - first)) * (HEIGHT - TOP - BOTTOM) };
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
}

function gridLine(tick, { at }) {
  return [
    svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: at(tick), y2: at(tick) }),
    svg("text", { class: "tick", x: LEFT - 6, y: at(tick) + 4, "text-anchor": "end" }, COMPACT.format(tick)),
  ];
}

const MOST_LABELS = 8;

function label(name, index, count) {
  const step = Math.ceil(count / MOST_LABELS);
  if (index % step) return null;
  return svg("text", { class: (index / step) % 2 ? "tick is-lower" : "tick", x: middle(index, count), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, name);
}

const middle = (index, count) => LEFT + ((index + 0.5) * ROOM) / count;

const valueOf = (one, name) => one.data.find((each) => each.label === name)?.value;

function bars(series, categories, { at }) {
  const width = Math.min(36, (ROOM / categories.length) * 0.7 / series.length);
  return series.flatMap((one, row) =>
    categories.map((name, index) => {
      const value = valueOf(one, name) ?? 0;
      const x = middle(index, categories.length) + (row - series.length / 2) * width;
      const box = { x, width: width - 1, y: Math.min(at(value), at(0)), height: Math.abs(at(value) - at(0)), rx: 2 };
      const number = svg("text", { class: "tick", x: x + width / 2, y: box.y - 4, "text-anchor": "middle" }, COMPACT.format(value));
      return [svg("rect", { class: `tone-${row}`, ...box }, tip(one, name, value)), series.length === 1 && number];
    }),
  );
}

const tip = (one, name, value) => svg("title", {}, `${one.name}, ${name}: ${value.toLocaleString()}`);

/** The points of a series, skipping categories without a value. */
const points = (one, categories, { at }) =>
  categories.map((name, index) => [middle(index, categories.length), valueOf(one, name), name])
    .filter(([, value]) => value !== undefined).map(([x, value, name]) => ({ x, y: at(value), value, name }));

const path = (all) => `M${all.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`;

function lines(series, categories, scale) {
  return series.map((one, row) => {
    const all = points(one, categories, scale);
    const dots = all.map(({ x, y, value, name }) => svg("circle", { class: `tone-${row}`, cx: x, cy: y, r: 3.5 }, tip(one, name, value)));
    return [svg("path", { class: `line stroke-${row}`, d: path(all) }), dots];
  });
}

function areas(series, categories, scale) {
  return series.map((one, row) => {
    const all = points(one, categories, scale);
    const floor = scale.at(0);
    const filled = `${path(all)}L${all.at(-1)?.x ?? 0} ${floor}L${all[0]?.x ?? 0} ${floor}Z`;
    return [svg("path", { class: `area tone-${row}`, d: filled }), svg("path", { class: `line stroke-${row}`, d: path(all) })];
  });
}
