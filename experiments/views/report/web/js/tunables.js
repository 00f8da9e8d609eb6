// The tunables: what each tells of the time, and all variants as lines through their values.
import { el, svg, section, soft, replace } from "./dom.js";
import { count, percent, times } from "./format.js";
import { pointing, responsive } from "./chart.js";
import { linear, logarithmic } from "./scales.js";

const HEIGHT = 360;
const LINES = 2000;
const NARROWEST = 74;
const MARGIN = { left: 44, right: 58, top: 46, bottom: 16 };

export function tunables(run, select) {
  const data = run.data.tunables;
  if (!data) return null;
  const chosen = new Map();
  const holder = el("div", { class: "scroll" });
  const told = el("p", { class: "soft", role: "status" });
  const redraw = () => chart.redraw();
  const chart = responsive((width) => {
    replace(holder, draw(run, data, chosen, Math.max(width, least(data)), select, redraw));
    told.textContent = words(data, chosen);
    return holder;
  });
  return section(
    "tunables",
    "What the tunables tell of the time",
    soft(
      `Of ${count(data.nodes.length)} measured variants of one code. The share of a tunable is that of the variance of the logarithm of the time which its value alone explains (omega squared). The search chose the variants, mostly near good ones: a small share means little depended on it there.`,
    ),
    importance(data),
    el("h3", {}, "All variants, value by value"),
    soft(
      "Each line is a variant; green ones are faster than nine tenths of all, the gold one is the best. Click a value to keep the variants that have it, the right end of a line to read its page.",
    ),
    chart,
    told,
  );
}

function importance(data) {
  return el(
    "table",
    { class: "importance" },
    el(
      "tbody",
      {},
      data.tunables.map((each) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, each.name),
          el("td", { class: "num" }, percent(each.share)),
          el(
            "td",
            { class: "wide" },
            svg(
              "svg",
              { class: "bar", width: "100%", height: 10, role: "presentation" },
              svg("rect", {
                class: "bar-best",
                width: `${(100 * each.share).toFixed(1)}%`,
                height: 10,
                rx: 4,
              }),
            ),
          ),
        ),
      ),
    ),
  );
}

const least = (data) => MARGIN.left + MARGIN.right + NARROWEST * data.tunables.length;

function kept(data, chosen) {
  const found = [];
  for (let at = 0; at < data.nodes.length; at += 1)
    if ([...chosen].every(([tunable, value]) => data.tunables[tunable].at[at] === value))
      found.push(at);
  return found;
}

function words(data, chosen) {
  const left = kept(data, chosen);
  const best = left.reduce((most, at) => Math.max(most, data.speedup[at]), 0);
  const asked = [...chosen].map(
    ([tunable, value]) => `${data.tunables[tunable].name} = ${data.tunables[tunable].values[value]}`,
  );
  const drawn = left.length > LINES ? `; ${count(LINES)} of them are drawn` : "";
  if (!asked.length) return drawn ? `${count(left.length)} variants${drawn}.` : "";
  return `${asked.join(", ")}: ${count(left.length)} variants${left.length ? `, the best ${times(best)}` : ""}${drawn}.`;
}

function draw(run, data, chosen, width, select, redraw) {
  const axes = data.tunables.length;
  const bottom = HEIGHT - MARGIN.bottom;
  const across = linear([0, axes], [MARGIN.left, width - MARGIN.right]);
  const scales = data.tunables.map((each) =>
    linear([0, each.values.length - 1], [bottom, MARGIN.top]),
  );
  const domain = [Math.min(...data.speedup), Math.max(...data.speedup)];
  const speed = (domain[1] / domain[0] > 8 ? logarithmic : linear)(domain, [bottom, MARGIN.top]);
  const left = sample(kept(data, chosen), data);
  const path = (at) =>
    data.tunables
      .map((each, axis) => `${across(axis).toFixed(1)} ${scales[axis](each.at[at]).toFixed(1)}`)
      .concat(`${across(axes).toFixed(1)} ${speed(data.speedup[at]).toFixed(1)}`)
      .map((place, index) => `${index ? "L" : "M"}${place}`)
      .join("");
  const lines = (rows, kind) =>
    svg("path", { class: `parallel ${kind}`, d: rows.map(path).join("") });
  const bar = quantile(data.speedup, 0.9);
  const best = left.filter((at) => run.rowOf.get(data.nodes[at]) === run.best);
  const element = svg(
    "svg",
    {
      width,
      height: HEIGHT,
      viewBox: `0 0 ${width} ${HEIGHT}`,
      role: "img",
      "aria-label": "Variants as lines through the values of their tunables",
    },
    lines(
      left.filter((at) => data.speedup[at] < bar),
      "rest",
    ),
    lines(
      left.filter((at) => data.speedup[at] >= bar),
      "good",
    ),
    lines(best, "best"),
    data.tunables.map((each, axis) =>
      axisOf(each, across(axis), scales[axis], axis, chosen, redraw),
    ),
    rightAxis(across(axes), speed, bottom),
  );
  pointing(
    element,
    left.map((at) => ({
      x: across(axes),
      y: speed(data.speedup[at]),
      row: run.rowOf.get(data.nodes[at]),
      text: `node ${data.nodes[at]}: ${times(data.speedup[at])}`,
    })),
    select,
  );
  return element;
}

// The fastest, and an even sample of the others: a browser does not draw more smoothly.
function sample(rows, data) {
  if (rows.length <= LINES) return rows;
  const ordered = [...rows].sort((a, b) => data.speedup[b] - data.speedup[a]);
  const head = ordered.slice(0, LINES / 2);
  const rest = ordered.slice(LINES / 2);
  const step = rest.length / (LINES / 2);
  return head.concat(Array.from({ length: LINES / 2 }, (_, at) => rest[Math.floor(at * step)]));
}

function quantile(values, share) {
  const ordered = [...values].sort((a, b) => a - b);
  return ordered[Math.floor(share * (ordered.length - 1))];
}

function axisOf(tunable, x, scale, axis, chosen, redraw) {
  const every = Math.ceil(tunable.values.length / 20);
  const name = tunable.name.length > 14 ? `${tunable.name.slice(0, 13)}…` : tunable.name;
  const pick = (value) => {
    if (chosen.get(axis) === value) chosen.delete(axis);
    else chosen.set(axis, value);
    redraw();
  };
  return svg(
    "g",
    { class: "parallel-axis" },
    svg("line", {
      x1: x,
      x2: x,
      y1: MARGIN.top,
      y2: HEIGHT - MARGIN.bottom,
      class: "axis-line",
    }),
    svg(
      "text",
      {
        x,
        y: axis % 2 ? 14 : 30,
        "text-anchor": axis ? "middle" : "start",
        dx: axis ? 0 : -MARGIN.left + 6,
        class: "tick",
      },
      name,
      svg("title", {}, tunable.name),
    ),
    tunable.values.map((value, at) =>
      at % every && at !== tunable.values.length - 1
        ? null
        : svg(
            "text",
            {
              x: x + 5,
              y: scale(at) + 4,
              class: `level${chosen.get(axis) === at ? " chosen" : ""}`,
              tabindex: 0,
              role: "button",
              "aria-pressed": String(chosen.get(axis) === at),
              "aria-label": `${tunable.name} = ${value}`,
              onclick: (event) => {
                event.stopPropagation();
                pick(at);
              },
              onkeydown: (event) => {
                if (event.key !== "Enter" && event.key !== " ") return;
                event.preventDefault();
                pick(at);
              },
            },
            value === "" ? "not set" : value,
          ),
    ),
  );
}

function rightAxis(x, scale, bottom) {
  return svg(
    "g",
    {},
    svg("line", { x1: x, x2: x, y1: MARGIN.top, y2: bottom, class: "axis-line" }),
    svg("text", { x, y: 14, "text-anchor": "middle", class: "tick" }, "speedup"),
    scale
      .ticks(6)
      .map((value) =>
        svg("text", { x: x + 8, y: scale(value) + 4, class: "tick" }, `${value}×`),
      ),
  );
}
