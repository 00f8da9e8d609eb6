// All nodes as a table for other programs: RFC 4180, one line a node.

const COLUMNS = [
  ["node", (run, row) => run.nodes.id[row]],
  ["parent", (run, row) => run.nodes.parent[row]],
  ["outcome", (run, row) => run.status(row)],
  ["speedup", (run, row) => run.nodes.speedup[row]],
  ["speedup_low", (run, row) => run.nodes.low[row]],
  ["speedup_high", (run, row) => run.nodes.high[row]],
  ["time_us", (run, row) => run.nodes.time[row]],
  ["confirmed", (run, row) => run.nodes.confirmed[row]],
  ["visits", (run, row) => run.nodes.visits[row]],
  ["limited_by", (run, row) => run.bound(row)],
  ["methods", (run, row) => run.methods(row).join(" ")],
  ["changed", (run, row) => run.nodes.changed[row]],
  ["reason", (run, row) => run.nodes.reason[row]],
];

export function csv(run, tunables) {
  const names = [...new Set(tunables.flatMap((values) => Object.keys(values)))];
  const lines = [[...COLUMNS.map(([name]) => name), ...names]];
  for (let row = 0; row < run.count; row += 1)
    lines.push([
      ...COLUMNS.map(([, of]) => of(run, row)),
      ...names.map((name) => tunables[row][name]),
    ]);
  return lines.map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
}

export async function download(run, packed) {
  const details = await Promise.all(run.nodes.detail.map((number) => packed.value(number)));
  const table = csv(
    run,
    details.map((each) => each.tunables ?? {}),
  );
  const url = URL.createObjectURL(new Blob([table], { type: "text/csv" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = "trials.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// A text that a spreadsheet would take for a formula gets an apostrophe: models write some of them.
function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) && !isNumber(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const isNumber = (text) => text.trim() !== "" && Number.isFinite(Number(text));
