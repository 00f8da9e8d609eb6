// Best so far against evaluations, wall clock, money or judging time.
import { el, svg, section, soft, replace } from "./dom.js";
import { duration, money, times, count } from "./format.js";
import { dots, frame, pointing, responsive } from "./chart.js";

const HEIGHT = 320;

export function progress(run, select) {
  const axes = axesOf(run.data.course);
  let chosen = axes[0];
  const chart = responsive((width) => draw(run, chosen, width, select));
  const bar = el("div", { class: "choices", role: "radiogroup", "aria-label": "Against" });
  const pick = (axis) => {
    chosen = axis;
    replace(
      bar,
      el("span", { class: "soft" }, "against"),
      axes.map((each) =>
        el(
          "button",
          {
            type: "button",
            role: "radio",
            "aria-checked": String(each === chosen),
            onclick: () => pick(each),
          },
          each.name,
        ),
      ),
    );
    chart.redraw();
  };
  pick(chosen);
  return section(
    "progress",
    "Best so far",
    soft(
      "Each dot is a variant as the search measured it, those slower than the baseline lie on the axis, crosses are failures; the line is the best found by then. Click a dot to read its page.",
    ),
    axes.length > 1 ? bar : null,
    chart,
  );
}

// What the abscissa may be: only what the run knows and what is not zero throughout.
function axesOf(course) {
  const told = course.node.map((_, at) => at);
  const some = (values) => values && values.some((value) => value > 0);
  return [
    { name: "evaluations", label: "evaluations", values: told, format: count },
    some(course.elapsed_s)
      ? { name: "time", label: "wall clock", values: course.elapsed_s, format: duration }
      : null,
    some(course.cost_usd)
      ? { name: "money", label: "US dollars for the model", values: course.cost_usd, format: money }
      : null,
    some(course.judged_s)
      ? {
          name: "device time",
          label: "time of judging on the device",
          values: course.judged_s,
          format: duration,
        }
      : null,
  ].filter(Boolean);
}

function draw(run, axis, width, select) {
  const points = run.data.course.node
    .map((id, at) => ({ row: run.rowOf.get(id), x: axis.values[at] }))
    .filter((point) => point.row !== undefined)
    .map((point) => ({ ...point, y: run.nodes.searched[point.row], kind: run.kind(point.row) }));
  const measured = points.filter((point) => point.y !== null);
  const high = Math.max(1.05, ...measured.map((point) => point.y));
  const log = high > 8;
  // The best so far is never below the baseline: what is slower lies on the axis.
  const y = {
    domain: [1, log ? high * 1.1 : 1 + (high - 1) * 1.08],
    log,
    label: "speedup",
    format: (value) => `${value}×`,
  };
  const x = {
    domain: [Math.min(...axis.values), Math.max(...axis.values)],
    label: axis.label,
    format: axis.format,
  };
  const { element, plot, sx, sy } = frame({
    width,
    height: HEIGHT,
    x,
    y,
    label: `Best so far against ${axis.label}`,
  });
  const places = (kinds) =>
    measured
      .filter((point) => kinds.includes(point.kind))
      .map((point) => [sx(point.x), sy(Math.max(1, point.y))]);
  const floor = sy(y.domain[0]) - 5;
  plot.append(
    dots(places(["slower", "even", "duplicate", "failed"]), "even"),
    dots(places(["faster", "best"]), "faster"),
    svg("path", {
      class: "crosses",
      d: points
        .filter((point) => point.y === null && point.kind === "failed")
        .map((point) => `M${(sx(point.x) - 3).toFixed(1)} ${floor - 3}l6 6m0 -6l-6 6`)
        .join(""),
    }),
    svg("path", { class: "best-line", d: staircase(measured, sx, sy, x.domain[1]) }),
  );
  pointing(
    element,
    measured.map((point) => ({
      x: sx(point.x),
      y: sy(Math.max(1, point.y)),
      row: point.row,
      text: `node ${run.nodes.id[point.row]}: ${times(point.y)}`,
    })),
    select,
  );
  return element;
}

function staircase(measured, sx, sy, end) {
  let best = -Infinity;
  let path = "";
  for (const point of measured) {
    if (point.y <= best) continue;
    best = point.y;
    path += path
      ? `H${sx(point.x).toFixed(1)}V${sy(best).toFixed(1)}`
      : `M${sx(point.x).toFixed(1)} ${sy(best).toFixed(1)}`;
  }
  return path && `${path}H${sx(end).toFixed(1)}`;
}
