// One row of the tree: its sign, number, what it changed or why it failed, and its figures.
import { el } from "./dom.js";
import { times, digits, count } from "./format.js";

const INDENT_PX = 14;
const SMALL_INDENT_PX = 3;
const DEEP = 8;
const DEEPEST = 30;
const SIGNS = { best: "★", faster: "▲", even: "●", slower: "▼", failed: "✕", duplicate: "○" };

export function treeRow(run, place, { at, selected, onselect, ontoggle }) {
  const { row, depth, open, leaf } = place;
  const { nodes } = run;
  return el(
    "div",
    {
      class: classes(run, place, selected),
      role: "row",
      id: `row-${row}`,
      "aria-level": depth + 1,
      "aria-rowindex": at + 1,
      "aria-selected": String(selected),
      "aria-expanded": leaf ? null : String(open),
      onclick: onselect,
      ondblclick: ontoggle,
    },
    nodeCell(run, place, ontoggle),
    el("div", { class: "cell speedup", role: "gridcell" }, times(nodes.speedup[row])),
    el("div", { class: "cell time", role: "gridcell" }, digits(nodes.time[row])),
    el("div", { class: "cell visits", role: "gridcell" }, count(nodes.visits[row])),
  );
}

function classes(run, { row, dim }, selected) {
  const found = ["row", run.kind(row)];
  if (run.path.has(row)) found.push("path");
  if (dim) found.push("dim");
  if (run.nodes.given_up[row]) found.push("given-up");
  if (selected) found.push("selected");
  return found.join(" ");
}

function nodeCell(run, { row, depth, open, leaf }, ontoggle) {
  const kind = run.kind(row);
  const what = told(run, row, kind);
  const act = (event) => {
    event.stopPropagation();
    ontoggle();
  };
  const cell = el(
    "div",
    { class: "cell id", role: "gridcell", title: what },
    el("span", { class: "twist", onclick: act }, leaf ? "" : open ? "▾" : "▸"),
    el("span", { class: `sign ${kind}`, title: kind }, SIGNS[kind]),
    el("b", {}, String(run.nodes.id[row])),
    el("span", { class: "what" }, what),
  );
  cell.style.paddingLeft = `${4 + indent(depth)}px`;
  return cell;
}

// Deep trees would push everything out of sight: further levels are indented less.
function indent(depth) {
  const deeper = Math.max(0, Math.min(depth, DEEPEST) - DEEP);
  return INDENT_PX * Math.min(depth, DEEP) + SMALL_INDENT_PX * deeper;
}

function told(run, row, kind) {
  const { nodes } = run;
  if (kind === "duplicate" || (nodes.reason[row] && run.status(row) === "measured"))
    return nodes.reason[row];
  if (kind === "failed" || nodes.reason[row]) return `${run.status(row)}: ${nodes.reason[row]}`;
  return nodes.changed[row] || (row === 0 ? "baseline" : "");
}
