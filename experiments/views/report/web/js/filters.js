// Which nodes a search and the filters leave. Pure: rows in, marks out.

export const NO_FILTER = { text: "", status: "", method: "", least: null, most: null };

export function isActive(filter) {
  return Boolean(
    filter.text.trim() ||
    filter.status ||
    filter.method ||
    filter.least !== null ||
    filter.most !== null,
  );
}

// One mark per row: 1 where it is wanted. Every word of the search must occur; quotes keep words together.
export function wanted(run, filter) {
  const words = [...filter.text.toLowerCase().matchAll(/"([^"]+)"|[^\s"]+/g)].map(
    (found) => found[1] ?? found[0],
  );
  const marks = new Uint8Array(run.count);
  for (let row = 0; row < run.count; row += 1)
    marks[row] = isWanted(run, row, filter, words) ? 1 : 0;
  return marks;
}

function isWanted(run, row, filter, words) {
  const speedup = run.nodes.speedup[row];
  if (filter.status && !hasStatus(run, row, filter.status)) return false;
  if (filter.method && !run.methods(row).includes(filter.method)) return false;
  if (filter.least !== null && !(speedup !== null && speedup >= filter.least)) return false;
  if (filter.most !== null && !(speedup !== null && speedup <= filter.most)) return false;
  if (!words.length) return true;
  const text = haystack(run, row);
  return words.every((word) => text.includes(word));
}

function hasStatus(run, row, status) {
  if (status === "any failure") return run.kind(row) === "failed";
  if (status === "given up") return run.nodes.given_up[row] === 1;
  if (status === "best path") return run.path.has(row);
  return run.status(row) === status;
}

function haystack(run, row) {
  run.haystacks ??= [];
  run.haystacks[row] ??= [
    `#${run.nodes.id[row]}`,
    run.status(row),
    run.methods(row).join(" "),
    run.nodes.changed[row],
    run.nodes.reason[row],
    run.bound(row),
  ]
    .join("\n")
    .toLowerCase();
  return run.haystacks[row];
}
