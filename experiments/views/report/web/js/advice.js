// What the tools said of a node: its place under the roofline, and each finding with its evidence.
import { el, svg, soft } from "./dom.js";
import { digits, percent, times, micro } from "./format.js";

const AXES = ["compute", "memory", "latency"];

export function advice({ detail }) {
  const findings = detail.findings ?? [];
  return [
    position(detail.roofline),
    findings.length ? el("h4", {}, `Findings (${findings.length})`) : null,
    findings.map((each, at) => finding(each, at === 0 || each.strength >= 0.3)),
    (detail.notes ?? []).map((note) => soft(note)),
  ];
}

function position(found) {
  if (!found) return null;
  const facts = [
    found.intensity
      ? `${digits(found.intensity)} flop/byte${found.counted ? " by its counters" : ""}`
      : "",
    found.ridge_flop_per_byte ? `ridge at ${digits(found.ridge_flop_per_byte)}` : "",
    found.achieved_gb_per_s ? `${digits(found.achieved_gb_per_s)} GB/s` : "",
    found.achieved_tflop_per_s ? `${digits(found.achieved_tflop_per_s)} TFLOP/s` : "",
    found.speed_of_light_us ? `the device could do it in ${micro(found.speed_of_light_us)}` : "",
  ].filter(Boolean);
  return [
    el(
      "h4",
      {},
      `${found.bound}-bound`,
      found.level ? ` (${found.level})` : "",
      ` · ${percent(found.confidence)} sure`,
      found.near_peak ? el("span", { class: "badge best" }, "near its peak") : null,
    ),
    el("p", { class: "told" }, found.reason),
    facts.length ? soft(`${facts.join(", ")}.`) : null,
    el(
      "div",
      { class: "gaps" },
      AXES.map((axis) => gauge(axis, found.gap[axis], found.method_budget[axis])),
    ),
  ];
}

function gauge(axis, gap, slots) {
  return el(
    "div",
    { class: "gauge" },
    el("span", {}, axis),
    svg(
      "svg",
      { width: "100%", height: 8, role: "img", "aria-label": `${axis}: ${percent(gap)} left` },
      svg("rect", { width: "100%", height: 8, rx: 4, class: "gauge-all" }),
      svg("rect", { width: `${100 * (1 - gap)}%`, height: 8, rx: 4, class: "gauge-used" }),
    ),
    el(
      "span",
      { class: "soft" },
      `${percent(gap)} left${slots ? `, ${slots} method${slots > 1 ? "s" : ""} next` : ""}`,
    ),
  );
}

function finding(found, open) {
  return el(
    "details",
    { class: "finding", open },
    el(
      "summary",
      {},
      el("b", {}, found.tool),
      ` ${found.axis}${found.kernel ? `, kernel ${found.kernel}` : ""} `,
      el(
        "span",
        { class: "soft" },
        `strength ${percent(found.strength)}${found.expected_gain ? `, expects ${times(found.expected_gain)}` : ""}${found.lines?.length ? `, lines ${found.lines.join(", ")}` : ""}`,
      ),
    ),
    el("p", { class: "told" }, found.advice),
    found.methods?.length
      ? el(
          "p",
          {},
          found.methods.map((name) => [el("span", { class: "chip method" }, name), " "]),
        )
      : null,
    el(
      "table",
      { class: "evidence" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["evidence", "value", "threshold"].map((title, at) =>
            el("th", { class: at ? "num" : "" }, title),
          ),
        ),
      ),
      el(
        "tbody",
        {},
        found.evidence.map(([metric, value, threshold, unit]) =>
          el(
            "tr",
            {},
            el("td", { class: "metric" }, metric),
            el("td", { class: "num" }, `${digits(value)} ${unit}`),
            el("td", { class: "num" }, `${digits(threshold)} ${unit}`),
          ),
        ),
      ),
    ),
  );
}
