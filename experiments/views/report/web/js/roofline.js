// The roofline with all variants, and the way of the best line through it.
import { el, svg, section, soft } from "./dom.js";
import { digits, tick, times } from "./format.js";
import { dots, frame, pointing, responsive } from "./chart.js";
import { nodeLink } from "./links.js";
import { table } from "./tables.js";

const HEIGHT = 400;
const BOUNDS = ["memory", "compute", "latency", "launch", "mixed", "unknown"];

export function roofline(run, select) {
  const rows = [...run.path].filter((row) => run.nodes.bound[row] !== null);
  if (!rows.length) return null;
  const placed = placedRows(run);
  const roofs = run.data.roofs;
  const drawable = roofs && roofs.chart && placed.length > 0;
  return section(
    "roofline",
    "Roofline, and where the bottleneck went",
    soft(
      drawable
        ? "Every variant that was profiled, by what it computes per byte it really moved and per second. To the right is less traffic, up is less time; the gold line is the way to the best. Click a dot to read its page."
        : "No plot: the device's ceilings or the work's arithmetic are not known. The table says what limited each step.",
    ),
    drawable
      ? [legend(run, placed), responsive((width) => draw(run, placed, roofs, width, select))]
      : null,
    run.data.floor ? el("p", {}, `The best: ${run.data.floor}`) : null,
    migration(run, [...run.path], select),
  );
}

function placedRows(run) {
  const rows = [];
  for (let row = 0; row < run.count; row += 1) {
    if (run.nodes.intensity[row] > 0 && run.nodes.rate[row] > 0 && run.status(row) !== "duplicate")
      rows.push(row);
  }
  return rows;
}

function legend(run, placed) {
  const there = new Set(placed.map((row) => run.bound(row)));
  return el(
    "p",
    { class: "legend" },
    BOUNDS.filter((bound) => there.has(bound)).map((bound) => [
      el("span", { class: `swatch bound-${bound}` }),
      `${bound}-bound `,
    ]),
  );
}

function draw(run, placed, roofs, width, select) {
  const { intensity, rate } = run.nodes;
  const x = {
    domain: roofs.chart.x,
    log: true,
    label: "flop per byte of device memory",
    format: tick,
  };
  const y = {
    domain: roofs.chart.y,
    log: true,
    label: "TFLOP/s",
    format: tick,
  };
  const { element, plot, sx, sy } = frame({
    width,
    height: HEIGHT,
    x,
    y,
    label: "Roofline of the device with the variants of this run",
  });
  roof(plot, roofs, sx, sy);
  for (const bound of BOUNDS) {
    const rows = placed.filter((row) => run.bound(row) === bound);
    if (rows.length)
      plot.append(
        dots(
          rows.map((row) => [sx(intensity[row]), sy(rate[row])]),
          `bound-${bound}`,
        ),
      );
  }
  const path = [...run.path].filter((row) => intensity[row] > 0 && rate[row] > 0);
  plot.append(
    svg("path", {
      class: "best-line",
      d: path
        .map(
          (row, at) =>
            `${at ? "L" : "M"}${sx(intensity[row]).toFixed(1)} ${sy(rate[row]).toFixed(1)}`,
        )
        .join(""),
    }),
    ...path.map((row) =>
      svg("circle", {
        cx: sx(intensity[row]),
        cy: sy(rate[row]),
        r: row === run.best ? 7 : 4.5,
        class: `station bound-${run.bound(row)}`,
      }),
    ),
  );
  ends(plot, run, path, sx, sy, width);
  pointing(
    element,
    placed.map((row) => ({
      x: sx(intensity[row]),
      y: sy(rate[row]),
      row,
      text: `node ${run.nodes.id[row]}: ${times(run.nodes.speedup[row])}, ${run.bound(row)}-bound`,
    })),
    select,
  );
  return element;
}

function roof(plot, roofs, sx, sy) {
  const corners = roofs.chart.roof.map(([x, y]) => [sx(x), sy(y)]);
  const [[left, low], [corner, high]] = corners;
  const line = corners.map(([x, y], at) => `${at ? "L" : "M"}${x} ${y}`).join("");
  plot.append(svg("path", { class: "roof", d: line }));
  const angle = (Math.atan2(high - low, corner - left) * 180) / Math.PI;
  plot.append(
    svg(
      "text",
      {
        class: "roof-name",
        "text-anchor": "middle",
        transform: `translate(${(left + corner) / 2} ${(low + high) / 2 - 7}) rotate(${angle})`,
      },
      `copying ${digits(roofs.gb_per_s)} GB/s, measured`,
    ),
  );
  if (corners.length > 2)
    plot.append(
      svg(
        "text",
        {
          class: "roof-name",
          x: corners[2][0] - 4,
          y: corners[2][1] - 7,
          "text-anchor": "end",
        },
        `${digits(roofs.tflop_per_s)} TFLOP/s`,
      ),
    );
}

function ends(plot, run, path, sx, sy, width) {
  for (const row of new Set([path[0], path[path.length - 1]])) {
    if (row === undefined) continue;
    const [x, y] = [sx(run.nodes.intensity[row]), sy(run.nodes.rate[row])];
    const words = row === 0 ? "baseline" : `best, node ${run.nodes.id[row]}`;
    const flip = x > width - 120;
    plot.append(
      svg(
        "text",
        {
          class: "end-name",
          x: x + (flip ? -12 : 12),
          y: y + 4,
          "text-anchor": flip ? "end" : "start",
        },
        words,
      ),
    );
  }
}

function migration(run, path, select) {
  const { nodes } = run;
  const columns = [
    {
      title: "node",
      show: (each) => [
        nodeLink(run, each.row, select, each.row === 0 ? "baseline" : `node ${nodes.id[each.row]}`),
      ],
    },
    { title: "speedup", numeric: true, show: (each) => times(nodes.speedup[each.row]) },
    { title: "what it changed", wide: true, show: (each) => nodes.changed[each.row] },
    { title: "limited by", show: (each) => run.bound(each.row) },
    { title: "flop/byte", numeric: true, show: (each) => digits(nodes.intensity[each.row]) },
    { title: "TFLOP/s", numeric: true, show: (each) => digits(nodes.rate[each.row]) },
  ];
  return table(
    columns,
    path.map((row) => ({ row })),
  );
}
