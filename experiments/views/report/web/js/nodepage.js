// The page of one node: a head that says what it is, and tabs for what is known of it.
import { el, replace } from "./dom.js";
import { times, interval, micro } from "./format.js";
import { nodeLink } from "./links.js";
import { summary } from "./nodesummary.js";
import { sourceTab, diffTab } from "./nodesource.js";
import { advice } from "./advice.js";
import { conversation } from "./conversation.js";
import { counters } from "./counters.js";

const LONGEST_PATH = 10;

export class NodePage {
  constructor(run, packed, select) {
    this.run = run;
    this.packed = packed;
    this.select = select;
    this.tab = "Summary";
    this.element = el("article", {
      class: "node-page",
      tabindex: -1,
      "aria-label": "The selected node",
    });
  }

  focus() {
    this.element.focus();
    this.element.scrollIntoView({ block: "nearest" });
  }

  async show(row) {
    this.row = row;
    const detail = await this.packed.value(this.run.nodes.detail[row]);
    if (this.row !== row) return; // another node was asked for meanwhile
    const context = {
      run: this.run,
      row,
      detail,
      select: this.select,
      value: (number) => this.packed.value(number),
      detailOf: (other) => this.packed.value(this.run.nodes.detail[other]),
      openSource: () => this.open("Source"),
    };
    this.tabs = tabsFor(context);
    if (!this.tabs.has(this.tab)) this.tab = "Summary";
    this.body = el("div", { class: "tab-body", role: "tabpanel", "aria-label": this.tab });
    this.bar = el("div", { class: "tabs", role: "tablist" });
    replace(this.element, head(context), this.bar, this.body);
    this.element.scrollTop = 0;
    this.element.dataset.node = this.run.nodes.id[row];
    await this.open(this.tab);
  }

  async open(name) {
    this.tab = name;
    replace(
      this.bar,
      [...this.tabs.keys()].map((each) => this.button(each)),
    );
    this.body.setAttribute("aria-label", name);
    const body = this.body;
    const content = await this.tabs.get(name)();
    if (this.tab === name) replace(body, content); // unless another was opened meanwhile
  }

  button(name) {
    const chosen = name === this.tab;
    return el(
      "button",
      {
        type: "button",
        role: "tab",
        "aria-selected": String(chosen),
        tabindex: chosen ? 0 : -1,
        onclick: () => this.open(name),
        onkeydown: (event) => this.turn(event),
      },
      name,
    );
  }

  turn(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const names = [...this.tabs.keys()];
    this.open(names[(names.indexOf(this.tab) + step + names.length) % names.length]);
    this.bar.querySelector("[aria-selected=true]").focus();
  }
}

function tabsFor(context) {
  const { detail, row } = context;
  const tabs = new Map([["Summary", () => summary(context)]]);
  if (detail.source !== undefined) tabs.set("Source", () => sourceTab(context));
  if (row > 0 && (detail.source !== undefined || detail.tunables))
    tabs.set("Diff", () => diffTab(context));
  if (detail.roofline || detail.findings || detail.notes) tabs.set("Advice", () => advice(context));
  if (detail.talks || detail.usage) tabs.set("Model", () => conversation(context));
  if (detail.kernels || detail.missing) tabs.set("Counters", () => counters(context));
  return tabs;
}

function head({ run, row, select }) {
  const { nodes } = run;
  const kind = run.kind(row);
  const measured = nodes.speedup[row] !== null;
  const words = row === run.best ? "best" : run.status(row);
  return el(
    "header",
    {},
    el(
      "h3",
      {},
      `Node ${nodes.id[row]} `,
      el("span", { class: `badge ${kind}` }, words),
      nodes.confirmed[row] && measured ? el("span", { class: "badge" }, "measured twice") : null,
      nodes.given_up[row]
        ? el(
            "span",
            { class: "badge", title: "the search will try nothing more below it" },
            "given up",
          )
        : null,
    ),
    measured
      ? el(
          "p",
          { class: "figure" },
          times(nodes.speedup[row]),
          el(
            "small",
            {},
            ` ${interval(nodes.low[row], nodes.high[row])}, ${micro(nodes.time[row])}`,
          ),
        )
      : null,
    lineage(run, row, select),
  );
}

function lineage(run, row, select) {
  const path = run.ancestors(row).reverse();
  const shown = path.slice(-LONGEST_PATH);
  const children = run.children[row];
  return el(
    "nav",
    { class: "lineage", "aria-label": "Lineage" },
    path.length > shown.length ? "… › " : null,
    shown.map((at) => [
      nodeLink(run, at, select, at === 0 ? "baseline" : String(run.nodes.id[at])),
      " › ",
    ]),
    el("b", {}, row === 0 ? "baseline" : String(run.nodes.id[row])),
    children.length
      ? [
          " › ",
          children
            .slice(0, 12)
            .map((child, at) => [
              at ? ", " : "",
              nodeLink(run, child, select, String(run.nodes.id[child])),
            ]),
          children.length > 12 ? ` and ${children.length - 12} more` : "",
        ]
      : null,
  );
}
