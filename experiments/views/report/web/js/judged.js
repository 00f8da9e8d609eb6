// Methods, tools, failures and money: what the run as a whole says of each.
import { el, section, soft } from "./dom.js";
import { percent, times } from "./format.js";
import { nodeLink } from "./links.js";
import { table } from "./tables.js";

export function methods(run, select) {
  const { claimed, ablations } = run.data;
  if (!claimed.length && !ablations.length) return null;
  return section(
    "methods",
    "What the methods are worth",
    ablations.length
      ? [
          soft(
            "Each of these methods was taken out of its variant again, and what was left was measured. Gain: the time without the method over the time with it, less 1, with its 95 % interval.",
          ),
          table(
            [
              {
                key: "node",
                title: "node",
                numeric: true,
                show: (row) => [nodeLink(run, run.rowOf.get(row.node), select, String(row.node))],
              },
              { key: "method", title: "method" },
              { key: "worth", title: "worth" },
              { key: "gain", title: "gain", numeric: true, show: (row) => row.text },
              { key: "realised", title: "in machine code" },
              { key: "by", title: "taken out by" },
              { key: "note", title: "note", wide: true },
            ],
            ablations.map((row) => ({ ...row, className: row.worth.replaceAll(" ", "_") })),
          ),
        ]
      : null,
    claimed.length
      ? [
          ablations.length ? el("h3", {}, "By the nodes that claim them") : null,
          soft(
            "How variants that claim a method stand against their parents. They change several things at once: this is what went along with a method, not what it caused. Faster and slower: the 95 % intervals do not overlap.",
          ),
          table(
            [
              {
                key: "method",
                title: "method",
                show: (row) => (row.on_best_path ? `${row.method} ★` : row.method),
              },
              { key: "nodes", title: "nodes", numeric: true },
              { key: "faster", title: "faster", numeric: true },
              { key: "even", title: "even", numeric: true },
              { key: "slower", title: "slower", numeric: true },
              { key: "failed", title: "failed", numeric: true },
              { key: "gain", title: "median gain", numeric: true, show: (row) => times(row.gain) },
            ],
            claimed,
          ),
          soft("★ on the way to the best."),
        ]
      : null,
  );
}

export function tools(run) {
  const rows = run.data.tools;
  if (!rows.length) return null;
  return section(
    "tools",
    "The tools, held against what came of their advice",
    soft(
      "A variant follows a tool when it claims a method that the tool pointed to at its parent. Several tools may point to what one variant did; each is credited alike.",
    ),
    table(
      [
        { key: "tool", title: "tool" },
        { key: "spoke", title: "spoke", numeric: true },
        {
          key: "strength",
          title: "median strength",
          numeric: true,
          show: (row) => percent(row.strength),
        },
        { key: "followed", title: "followed", numeric: true },
        { key: "improved", title: "improved", numeric: true },
        { key: "neutral", title: "even", numeric: true },
        { key: "regressed", title: "regressed", numeric: true },
        { key: "failed", title: "failed", numeric: true },
        { key: "gain", title: "median gain", numeric: true, show: (row) => times(row.gain) },
        {
          key: "expected",
          title: "it expected",
          numeric: true,
          show: (row) => times(row.expected),
        },
        {
          key: "measured",
          title: "of these came",
          numeric: true,
          show: (row) => times(row.measured),
        },
      ],
      rows,
    ),
  );
}

export function failures(run, select) {
  const rows = run.data.failures;
  if (!rows.length) return section("failures", "Failures", soft("Every candidate was measured."));
  const link = (id) => nodeLink(run, run.rowOf.get(id), select, String(id));
  return section(
    "failures",
    "Failures by kind",
    table(
      [
        { key: "kind", title: "kind" },
        { key: "count", title: "nodes", numeric: true },
        {
          title: "what was said most",
          wide: true,
          show: (row) =>
            row.messages.map((each) =>
              el(
                "div",
                { class: "told" },
                each.count > 1 ? `${each.count} × ` : "",
                each.text,
                " (",
                link(each.node),
                ")",
              ),
            ),
        },
        {
          title: "among them",
          show: (row) =>
            [
              row.nodes.map((id, at) => [at ? ", " : "", link(id)]),
              row.count > row.nodes.length ? ", …" : "",
            ].flat(3),
        },
      ],
      rows,
    ),
  );
}

export function account(run) {
  const rows = run.data.account;
  if (!rows.length) return null;
  return section(
    "account",
    "What the model was asked, and took",
    table(
      [
        { key: "prompt", title: "prompt" },
        { key: "model", title: "model" },
        { key: "nodes", title: "nodes", numeric: true, show: (row) => row.nodes || "" },
        { key: "replies", title: "replies", numeric: true },
        { key: "tokens", title: "tokens", numeric: true },
        { key: "cost_usd", title: "cost", numeric: true, show: (row) => row.cost },
        { key: "seconds", title: "seconds", numeric: true },
      ],
      rows.map((row, at) => ({ ...row, className: at === rows.length - 1 ? "sum" : "" })),
    ),
  );
}
