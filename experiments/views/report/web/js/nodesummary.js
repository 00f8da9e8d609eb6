// A node at a glance: what changed, what was measured, and what became of it.
import { el, soft } from "./dom.js";
import { times, interval, micro, digits, percent } from "./format.js";
import { nodeLink } from "./links.js";
import { samples } from "./samples.js";
import { table } from "./tables.js";

export function summary(context) {
  const { detail, run, row } = context;
  return [
    changed(context),
    failure(detail),
    run.status(row) === "measured" && run.nodes.reason[row]
      ? el("p", { class: "told" }, `Not to be handed back: ${run.nodes.reason[row]}.`)
      : null,
    detail.rationale
      ? [el("h4", {}, "Why it was proposed"), el("p", { class: "told" }, detail.rationale)]
      : null,
    detail.confirmed ? [el("h4", {}, "Measured again"), evaluation(detail.confirmed)] : null,
    detail.evaluation?.timing || detail.evaluation?.verification
      ? [
          el("h4", {}, detail.confirmed ? "Measured while searching" : "Measured"),
          evaluation(detail.evaluation),
        ]
      : null,
    build(detail.evaluation?.build),
    rows("What its methods are worth", detail.attributions, [
      "method",
      "worth",
      "gain",
      "in machine code",
      "taken out by",
      "note",
    ]),
    rows("Branches: other values of the same proposal", detail.branches, ["values", "outcome", ""]),
    search(detail),
  ];
}

function changed({ run, row, detail, select }) {
  const methods = detail.methods ?? [];
  const same = run.nodes.same_as[row];
  return [
    same !== null
      ? el(
          "p",
          {},
          "The same candidate as ",
          nodeLink(run, run.rowOf.get(same), select),
          ", which was measured.",
        )
      : null,
    run.nodes.changed[row]
      ? el(
          "p",
          {},
          "Changed against its parent: ",
          run.nodes.changed[row]
            .split("; ")
            .map((word) => [el("span", { class: "chip" }, word), " "]),
        )
      : null,
    methods.length
      ? el(
          "p",
          {},
          "Methods: ",
          methods.map((name) => [el("span", { class: "chip method" }, name), " "]),
        )
      : null,
  ];
}

function failure(detail) {
  const told = detail.evaluation;
  const message = told?.message || detail.reason;
  const again = detail.confirmed;
  return [
    again?.message
      ? [
          el("h4", {}, `Not confirmed: ${again.status}`),
          el("pre", { class: "code scroll log" }, again.message),
        ]
      : null,
    message && message !== again?.message
      ? [
          el("h4", {}, told ? told.status : "No candidate"),
          el("pre", { class: "code scroll log" }, message),
        ]
      : null,
    told?.refusal
      ? el("p", {}, `Evidence (${told.refusal.cheat}): ${told.refusal.evidence}`)
      : null,
    told?.build?.log && told.build.log !== message
      ? [el("h4", {}, "Compiler's log"), el("pre", { class: "code scroll log" }, told.build.log)]
      : null,
  ];
}

function evaluation(found) {
  const timing = found.timing;
  return [
    timing ? latency(timing) : null,
    timing ? samples(timing) : null,
    timing?.shapes?.length ? shapes(timing.shapes) : null,
    found.verification ? soft(verification(found.verification)) : null,
    found.energy ? soft(`Energy: ${found.energy}`) : null,
    found.isolation ? soft(`Isolation: ${found.isolation}`) : null,
    (found.notes ?? []).map((note) => soft(note)),
  ];
}

function latency(timing) {
  const facts = [
    [
      "speedup",
      `${times(timing.speedup)} (${interval(timing.speedup_low, timing.speedup_high)})${timing.baseline === "baseline" ? "" : ` over ${timing.baseline}`}`,
    ],
    ["time", `${micro(timing.median_us)} (${digits(timing.low_us)} to ${digits(timing.high_us)})`],
    [timing.baseline, micro(timing.baseline_us)],
    ["rounds", String(timing.rounds)],
    ["by the host's clock", micro(timing.host_us)],
    ["can resolve", timing.detectable === null ? "" : `${(100 * timing.detectable).toFixed(2)} %`],
  ];
  return facts_(facts);
}

export function facts_(pairs) {
  return el(
    "dl",
    { class: "facts" },
    pairs
      .filter(([, text]) => text)
      .map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]),
  );
}

function shapes(all) {
  return table(
    [
      { key: "workload", title: "workload" },
      { key: "weight", title: "weight", numeric: true, show: (each) => percent(each.weight) },
      {
        key: "median_us",
        title: "time, µs",
        numeric: true,
        show: (each) => digits(each.median_us),
      },
      {
        key: "baseline_us",
        title: "baseline, µs",
        numeric: true,
        show: (each) => digits(each.baseline_us),
      },
      { key: "speedup", title: "speedup", numeric: true, show: (each) => times(each.speedup) },
      {
        key: "speedup_low",
        title: "interval",
        numeric: true,
        show: (each) => interval(each.speedup_low, each.speedup_high),
      },
    ],
    all.map((each) => ({ ...each, className: each.speedup_high < 1 ? "bad" : "" })),
  );
}

function verification(found) {
  const parts = [
    found.passed
      ? `Verified over ${found.rounds} rounds of fresh inputs`
      : `Wrong in ${found.rounds} rounds`,
  ];
  if (found.max_error !== undefined) parts.push(`greatest error ${digits(found.max_error)}`);
  if (found.worst_ratio !== undefined)
    parts.push(`${digits(found.worst_ratio)} of what is allowed`);
  return `${parts.join(", ")}.${found.detail ? ` ${found.detail}` : ""}`;
}

function build(found) {
  if (!found) return null;
  const kernels = Object.keys(found.registers ?? {});
  const lines = kernels.map(
    (name) =>
      `${name}: ${found.registers[name]} registers, ${digits(found.shared_bytes?.[name] ?? 0)} B shared, ${digits(found.local_bytes?.[name] ?? 0)} B local`,
  );
  if (found.seconds !== undefined) lines.push(`compiled in ${digits(found.seconds)} s`);
  return lines.length ? [el("h4", {}, "Build"), lines.map((text) => soft(text))] : null;
}

function rows(title, all, titles) {
  if (!all?.length) return null;
  const columns = titles.map((name, at) => ({ title: name, show: (each) => each.values[at] }));
  return [
    el("h4", {}, title),
    table(
      columns,
      all.map((values) => ({ values })),
    ),
  ];
}

function search(detail) {
  const found = detail.search;
  const visits = `${found.visits} ${found.visits === 1 ? "visit" : "visits"}`;
  const parts = [
    visits,
    `reward ${digits(found.reward)}`,
    `mean below ${digits(found.value)}`,
    `prior ${digits(found.prior)}`,
  ];
  if (found.gpu_s) parts.push(`judged for ${digits(found.gpu_s)} s`);
  if (found.restarted) parts.push("a branch that was taken up again");
  if (found.cost) parts.push(`for the model: ${found.cost}`);
  return [el("h4", {}, "In the search"), soft(`${parts.join(", ")}.`)];
}
