// Tables: the plain one, and the one with sorting and pages.

import { h } from "../dom.js";
import { change, remembered } from "../state.js";

const PAGE = 5; // rows, by default

export function table(block) {
  const [head, ...rows] = block.rows;
  const setting = (index) => block.column_settings?.[index] ?? {};
  const look = (one, index) => `${align(one, setting(index).align)}${setting(index).is_wrapped ? " is-wrapped" : ""}`;
  return frame(
    "Table",
    h("thead", {}, h("tr", {}, head.map((one, index) => h("th", { scope: "col", class: look(rows[0]?.[index], index) }, cell(one))))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((one, index) => h("td", { class: look(one, index) }, cell(one)))))),
  );
}

export function dataTable(block, surface) {
  const widget = remembered(`${surface.key} ${block.block_id} table`, { page: 0, by: null, isDown: false });
  const [head, ...rows] = block.rows;
  const each = block.page_size ?? PAGE;
  const shown = sorted(rows, widget).slice(widget.page * each, (widget.page + 1) * each);
  return h(
    "div",
    { class: "data-table" },
    frame(
      block.caption,
      h("caption", {}, block.caption),
      h("thead", {}, h("tr", {}, head.map((one, index) => sortable(one, index, widget, align(rows[0]?.[index]))))),
      h("tbody", {}, shown.map((row) => h("tr", {}, row.map((one, index) => bodyCell(one, index === block.row_header_column_index))))),
    ),
    rows.length > each && pager(widget, Math.ceil(rows.length / each)),
  );
}

/** A wide table scrolls on its own, also by keyboard. */
const frame = (label, ...children) =>
  h("div", { class: "table-frame", tabindex: 0, role: "region", "aria-label": label }, h("table", {}, children));

function sortable(one, index, widget, look) {
  const isBy = widget.by === index;
  const sort = () => {
    Object.assign(widget, { by: index, isDown: isBy && !widget.isDown, page: 0 });
    change();
  };
  const order = widget.isDown ? "descending" : "ascending";
  return h(
    "th",
    { scope: "col", class: look, "aria-sort": isBy ? order : null },
    h("button", { type: "button", class: "sort", onclick: sort }, cell(one), isBy && (widget.isDown ? " ↓" : " ↑")),
  );
}

function sorted(rows, { by, isDown }) {
  if (by === null) return rows;
  const compare = (a, b) => {
    const [one, other] = [sortValue(a[by]), sortValue(b[by])];
    return typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other), undefined, { numeric: true });
  };
  return [...rows].sort((a, b) => (isDown ? compare(b, a) : compare(a, b)));
}

const sortValue = (one) => one?.value ?? one?.text ?? "";

function pager(widget, pages) {
  const turn = (by) => () => {
    widget.page += by;
    change();
  };
  return h(
    "div",
    { class: "pager" },
    h("button", { type: "button", class: "button is-small", disabled: widget.page === 0, onclick: turn(-1) }, "Back"),
    h("span", {}, `Page ${widget.page + 1} of ${pages}`),
    h("button", { type: "button", class: "button is-small", disabled: widget.page === pages - 1, onclick: turn(1) }, "Next"),
  );
}

function bodyCell(one, isHeader) {
  return isHeader ? h("th", { scope: "row", class: align(one) }, cell(one)) : h("td", { class: align(one) }, cell(one));
}

function align(one, wish) {
  const side = wish ?? (one?.type === "raw_number" ? "right" : "left");
  return side === "left" ? "" : `is-${side}`;
}

function cell(one) {
  if (one.html !== undefined) return h("div", { class: "words", html: one.html });
  return one.text ?? one.value?.toLocaleString() ?? "";
}
