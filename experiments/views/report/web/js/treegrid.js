// The tree as a grid of rows: collapsible, or sorted by a column; mouse and keyboard.
import { el, replace } from "./dom.js";
import { leadingTo, treeRows, sortedRows } from "./rows.js";
import { treeRow } from "./treerow.js";
import { VirtualList } from "./virtual.js";

const ROW_PX = 28;
const COLUMNS = [
  [
    { key: "id", title: "node", descending: false },
    { key: "status", title: "status", descending: false },
  ],
  [{ key: "speedup", title: "speedup", descending: true }],
  [{ key: "time", title: "time, µs", descending: false }],
  [{ key: "visits", title: "visits", descending: true }],
];

export class TreeGrid {
  constructor(run, { onselect, onopen }) {
    this.run = run;
    this.onselect = onselect;
    this.onopen = onopen;
    this.marks = null;
    this.before = null;
    this.sort = null;
    this.selected = run.best;
    this.expanded = new Set(run.path);
    this.head = el("div", { class: "row head", role: "row" });
    this.viewport = el("div", {
      class: "rows",
      role: "treegrid",
      tabindex: 0,
      "aria-label": "Nodes of the search",
      "aria-multiselectable": "false",
    });
    this.viewport.addEventListener("keydown", (event) => this.key(event));
    this.element = el("div", { class: "grid" }, this.head, this.viewport);
    this.list = new VirtualList({
      viewport: this.viewport,
      height: ROW_PX,
      make: (at) => this.row(at),
    });
    this.update();
  }

  // With marks everything that leads to one is open; without, what was open before.
  filter(marks) {
    this.before ??= this.expanded;
    this.marks = marks;
    if (marks) {
      const leads = leadingTo(this.run, marks);
      this.expanded = new Set([...leads.keys()].filter((row) => leads[row]));
    } else {
      [this.expanded, this.before] = [this.before, null];
      this.unfold(this.selected);
    }
    this.update();
    const hit =
      marks && !marks[this.selected] ? this.rows.findIndex((each) => !each.dim) : this.place();
    this.list.reveal(Math.max(0, hit));
  }

  expandAll() {
    this.run.children.forEach((children, row) => children.length && this.expanded.add(row));
    this.update();
  }

  collapse() {
    this.expanded = new Set(this.run.path);
    this.update();
  }

  select(row, { tell = true } = {}) {
    this.selected = row;
    if (!this.sort && this.place() < 0) {
      this.unfold(row);
      this.update();
    }
    const at = this.place();
    if (at >= 0) this.list.reveal(at);
    else this.list.draw();
    this.viewport.setAttribute("aria-activedescendant", at >= 0 ? `row-${row}` : "");
    if (tell) this.onselect(row);
  }

  unfold(row) {
    for (const ancestor of this.run.ancestors(row)) this.expanded.add(ancestor);
  }

  update() {
    this.rows = this.sort
      ? sortedRows(this.run, this.sort.key, this.sort.descending, this.marks)
      : treeRows(this.run, this.expanded, this.marks);
    this.placeOf = new Map(this.rows.map((each, at) => [each.row, at]));
    this.viewport.setAttribute("aria-rowcount", this.rows.length);
    replace(
      this.head,
      COLUMNS.map((columns) => this.title(columns)),
    );
    this.list.show(this.rows.length);
  }

  place() {
    return this.placeOf.get(this.selected) ?? -1;
  }

  // A click sorts, the next turns the order, the third goes back to the tree.
  sortBy(column) {
    const same = this.sort && this.sort.key === column.key;
    if (!same) this.sort = { key: column.key, descending: column.descending };
    else if (this.sort.descending === column.descending) this.sort.descending = !column.descending;
    else this.sort = null;
    this.viewport.scrollTop = 0;
    this.update();
  }

  title(columns) {
    const sorted = columns.find((column) => this.sort && this.sort.key === column.key);
    const order = sorted ? (this.sort.descending ? "descending" : "ascending") : "none";
    return el(
      "div",
      { role: "columnheader", class: `cell ${columns[0].key}`, "aria-sort": order },
      columns.map((column) => this.sorter(column)),
    );
  }

  sorter(column) {
    const sorted = this.sort && this.sort.key === column.key;
    const sign = sorted ? (this.sort.descending ? " ↓" : " ↑") : "";
    return el(
      "button",
      {
        type: "button",
        title: "Sort; a third click goes back to the tree",
        onclick: () => this.sortBy(column),
      },
      column.title + sign,
    );
  }

  row(at) {
    const place = this.rows[at];
    return treeRow(this.run, place, {
      at,
      selected: place.row === this.selected,
      onselect: () => this.select(place.row),
      ontoggle: () => this.toggle(place.row),
    });
  }

  toggle(row, open = !this.expanded.has(row)) {
    if (!this.run.children[row].length || this.sort) return;
    if (open) this.expanded.add(row);
    else this.expanded.delete(row);
    this.update();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = this.keys()[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  keys() {
    const row = this.selected;
    const move = (at) =>
      this.rows.length &&
      this.select(this.rows[Math.max(0, Math.min(this.rows.length - 1, at))].row);
    const at = this.place();
    return {
      ArrowDown: () => move(at + 1),
      ArrowUp: () => move(at - 1),
      PageDown: () => move(at + this.list.page),
      PageUp: () => move(at - this.list.page),
      Home: () => move(0),
      End: () => move(this.rows.length - 1),
      ArrowRight: () =>
        this.expanded.has(row) || this.sort || !this.run.children[row].length
          ? move(at + 1)
          : this.toggle(row, true),
      ArrowLeft: () =>
        this.expanded.has(row) && this.run.children[row].length && !this.sort
          ? this.toggle(row, false)
          : this.run.parent[row] >= 0 && this.select(this.run.parent[row]),
      Enter: () => this.onopen(row),
      " ": () => this.toggle(row),
      b: () => this.select(this.run.best),
    };
  }
}
