// The section of the tree: controls, the grid, and the page of the selected node beside it.
import { el, section } from "./dom.js";
import { download } from "./csv.js";
import { count } from "./format.js";
import { isActive, wanted, NO_FILTER } from "./filters.js";
import { makeToolbar } from "./toolbar.js";
import { TreeGrid } from "./treegrid.js";
import { NodePage } from "./nodepage.js";

export class Explorer {
  constructor(run, packed) {
    this.run = run;
    this.filter = NO_FILTER;
    this.page = new NodePage(run, packed, (row) => this.select(row));
    this.grid = new TreeGrid(run, {
      onselect: (row) => this.shown(row),
      onopen: () => this.page.focus(),
    });
    this.toolbar = makeToolbar(run, (filter) => this.refilter(filter));
    this.told = el("span", { class: "soft", role: "status" });
    const buttons = el(
      "div",
      { class: "buttons" },
      button("Expand all", () => this.grid.expandAll()),
      button("Collapse", () => this.grid.collapse()),
      button("Best", () => this.select(run.best)),
      button("All as CSV", () => download(run, packed)),
      this.told,
    );
    this.element = section(
      "tree",
      "The search tree",
      el(
        "p",
        { class: "soft help" },
        "Click a node to read its page. Keys: arrows move and fold, Home and End, b for the best, Enter for the page, / to search.",
      ),
      this.toolbar.bar,
      buttons,
      el("div", { class: "explorer" }, this.grid.element, this.page.element),
    );
    this.tell(null);
    document.addEventListener("keydown", (event) => this.key(event));
  }

  // Show a node here, whoever asked for it.
  select(row) {
    this.grid.select(row);
  }

  shown(row) {
    this.page.show(row);
    history.replaceState(null, "", `#node-${this.run.nodes.id[row]}`);
  }

  refilter(filter) {
    this.filter = filter;
    const marks = isActive(filter) ? wanted(this.run, filter) : null;
    this.tell(marks);
    this.grid.filter(marks);
  }

  tell(marks) {
    const found = marks ? marks.reduce((sum, mark) => sum + mark, 0) : this.run.count;
    this.told.textContent = marks
      ? `${count(found)} of ${count(this.run.count)} nodes`
      : `${count(this.run.count)} nodes`;
  }

  key(event) {
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      this.toolbar.focusSearch();
    } else if (event.key === "Escape" && typing) {
      this.toolbar.clear();
      this.grid.viewport.focus();
    }
  }
}

function button(text, act) {
  return el("button", { type: "button", onclick: act }, text);
}
