// Tables that sort by a click on a title. A column: key, title, and how to show a row's value.
import { el, replace } from "./dom.js";

export function table(columns, rows, { caption = "" } = {}) {
  const shown = columns.filter((column) => rows.some((row) => !empty(text(column, row))));
  let sort = null;
  const head = el("tr");
  const body = el("tbody");
  const draw = () => {
    const ordered = sort
      ? [...rows].sort((a, b) => compare(a[sort.key], b[sort.key], sort.descending))
      : rows;
    replace(
      head,
      shown.map((column) =>
        title(column, sort, () => {
          sort = next(sort, column);
          draw();
        }),
      ),
    );
    replace(
      body,
      ordered.map((row) =>
        el(
          "tr",
          { class: row.className },
          shown.map((column) => cell(column, row)),
        ),
      ),
    );
  };
  draw();
  return el(
    "div",
    { class: "scroll" },
    el("table", {}, caption && el("caption", {}, caption), el("thead", {}, head), body),
  );
}

function title(column, sort, act) {
  const sorted = sort && sort.key === column.key;
  const order = sorted ? (sort.descending ? "descending" : "ascending") : "none";
  const kind = column.numeric ? "num" : null;
  if (!column.key) return el("th", { class: kind, scope: "col" }, column.title);
  return el(
    "th",
    { class: kind, "aria-sort": order, scope: "col" },
    el(
      "button",
      { type: "button", onclick: act },
      column.title + (sorted ? (sort.descending ? " ↓" : " ↑") : ""),
    ),
  );
}

function next(sort, column) {
  const first = Boolean(column.numeric);
  if (!sort || sort.key !== column.key) return { key: column.key, descending: first };
  return sort.descending === first ? { key: column.key, descending: !first } : null;
}

function text(column, row) {
  return column.show ? column.show(row) : row[column.key];
}

function cell(column, row) {
  const value = text(column, row);
  const content = value === null || value === undefined ? "" : value;
  const classes = [column.numeric ? "num" : "", column.wide ? "wide" : ""]
    .filter(Boolean)
    .join(" ");
  return el(
    "td",
    { class: classes },
    Array.isArray(content) || content instanceof Node ? content : String(content),
  );
}

function empty(value) {
  return (
    value === null || value === undefined || value === "" || (Array.isArray(value) && !value.length)
  );
}

function compare(a, b, descending) {
  if (a === b) return 0;
  if (a === null || a === undefined || a === "") return 1;
  if (b === null || b === undefined || b === "") return -1;
  return (a < b ? -1 : 1) * (descending ? -1 : 1);
}
