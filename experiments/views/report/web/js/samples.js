// Single calls as dots, medians and intervals as bars: candidate under baseline on one axis.
import { el, svg } from "./dom.js";
import { digits } from "./format.js";

const WIDTH = 520;
const LANE = 26;

export function samples(timing) {
  const lanes = [
    {
      name: timing.baseline,
      median: timing.baseline_us,
      points: timing.baseline_samples_us ?? [],
      kind: "base",
    },
    {
      name: "candidate",
      median: timing.median_us,
      low: timing.low_us,
      high: timing.high_us,
      points: timing.samples_us ?? [],
      kind: "best",
    },
  ];
  const values = lanes.flatMap((lane) => [
    lane.median,
    ...(lane.low ? [lane.low, lane.high] : []),
    ...lane.points,
  ]);
  const most = Math.max(...values) * 1.02;
  const x = (value) => (WIDTH * value) / most;
  const label = `${lanes[0].name} ${digits(lanes[0].median)} µs, candidate ${digits(lanes[1].median)} µs`;
  return el(
    "figure",
    { class: "samples" },
    svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${2 * LANE + 16}`, role: "img", "aria-label": label },
      lanes.map((lane, at) => drawn(lane, at * LANE + 15, x)),
      svg(
        "text",
        { x: WIDTH, y: 2 * LANE + 13, "text-anchor": "end", class: "tick" },
        `${digits(most)} µs`,
      ),
      svg("text", { x: 0, y: 2 * LANE + 13, class: "tick" }, "0"),
    ),
  );
}

function drawn(lane, y, x) {
  const dots = lane.points.map((value) => `M${x(value).toFixed(1)} ${y + 4}h0`).join("");
  return [
    svg("line", { x1: 0, x2: x(lane.median), y1: y + 4, y2: y + 4, class: `lane ${lane.kind}` }),
    dots ? svg("path", { d: dots, class: "dots" }) : null,
    lane.low
      ? svg("rect", {
          x: x(lane.low),
          width: Math.max(1.5, x(lane.high) - x(lane.low)),
          y,
          height: 8,
          class: "band",
        })
      : null,
    svg("line", { x1: x(lane.median), x2: x(lane.median), y1: y - 1, y2: y + 9, class: "median" }),
    svg("text", { x: 2, y: y - 4, class: "tick" }, lane.name),
  ];
}
