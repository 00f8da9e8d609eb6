// The counters of each kernel by their Nsight names, facts of its machine code, and what is missing.
import { el, soft } from "./dom.js";
import { count, digits } from "./format.js";
import { table } from "./tables.js";

export function counters({ detail }) {
  const missing = Object.entries(detail.missing ?? {});
  return [
    (detail.kernels ?? []).map(kernel),
    missing.length
      ? el(
          "details",
          {},
          el("summary", {}, `Not measured (${missing.length})`),
          missing.map(([name, why]) => soft(`${name}: ${why}`)),
        )
      : null,
  ];
}

function kernel(found) {
  const sass = Object.entries(found.sass ?? {}).filter(([, value]) => typeof value === "number");
  return [
    el("h4", {}, found.name, found.launches > 1 ? ` × ${found.launches}` : ""),
    sass.length
      ? soft(
          `Machine code: ${sass.map(([name, value]) => `${count(value)} ${name.replaceAll("_", " ")}`).join(", ")}.`,
        )
      : null,
    found.metrics.length
      ? table(
          [
            { key: "name", title: "counter" },
            { key: "value", title: "value", numeric: true, show: (each) => digits(each.value) },
            { key: "unit", title: "unit" },
          ],
          found.metrics.map(([name, value, unit]) => ({ name, value, unit })),
        )
      : null,
  ];
}
