// A node's source, and what it changed against another node's.
import { el, replace, soft } from "./dom.js";
import { nodeLink } from "./links.js";
import { sourceView } from "./source.js";
import { diffView } from "./diffview.js";

export async function sourceTab({ run, detail, value }) {
  const named = (detail.findings ?? []).flatMap((finding) => finding.lines ?? []);
  return [
    tunables(detail.tunables),
    named.length ? soft("Marked lines are named by the tools.") : null,
    sourceView(await value(detail.source), run.data.language, named),
  ];
}

function tunables(values) {
  const pairs = Object.entries(values ?? {});
  return pairs.length
    ? el(
        "p",
        {},
        pairs.map(([name, value]) => [el("span", { class: "chip" }, `${name} = ${value}`), " "]),
      )
    : null;
}

// Against its parent, its best ancestor, the baseline, or the twin that was measured.
export async function diffTab(context) {
  const { run, row } = context;
  const others = [
    ["parent", run.parent[row]],
    ["best ancestor", run.bestAncestor(row)],
    ["baseline", 0],
  ];
  if (row !== run.best) others.push(["best", run.best]);
  const bar = el("div", { class: "choices", role: "radiogroup", "aria-label": "Compare with" });
  const body = el("div");
  const open = async (name, other) => {
    replace(
      bar,
      el("span", { class: "soft" }, "against"),
      others
        .filter(([, each]) => each >= 0)
        .map(([each, place]) =>
          el(
            "button",
            {
              type: "button",
              role: "radio",
              "aria-checked": String(each === name),
              onclick: () => open(each, place),
            },
            `${each} (${run.nodes.id[place]})`,
          ),
        ),
    );
    replace(body, await compared(context, other));
  };
  await open(...others[0]);
  return [bar, body];
}

async function compared({ run, detail, detailOf, value, select }, other) {
  const before = await detailOf(other);
  const [old, fresh] = await Promise.all(
    [before, detail].map((each) => (each.source === undefined ? "" : value(each.source))),
  );
  const found = diffView(old, fresh);
  const words =
    found.added || found.removed ? `Lines: ${found.added} added, ${found.removed} removed.` : "";
  return [
    el("p", {}, nodeLink(run, other, select), " to this one. ", words),
    moved(before.tunables ?? {}, detail.tunables ?? {}),
    found.element,
  ];
}

function moved(before, after) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => before[name] !== after[name],
  );
  if (!names.length) return null;
  return el(
    "p",
    {},
    "Tunables: ",
    names.map((name) => [
      el(
        "span",
        { class: "chip" },
        `${name} `,
        el("del", {}, String(before[name] ?? "–")),
        " → ",
        el("ins", {}, String(after[name] ?? "–")),
      ),
      " ",
    ]),
  );
}
