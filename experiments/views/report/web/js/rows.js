// The rows that a tree or a sorted list shows, in order. Pure.

// The tree from the root: children of what is expanded. With marks, only what leads to a mark.
export function treeRows(run, expanded, marks) {
  const leads = marks && leadingTo(run, marks);
  const rows = [];
  const stack = [[0, 0]];
  while (stack.length) {
    const [row, depth] = stack.pop();
    if (leads && !leads[row]) continue;
    const children = leads ? run.children[row].filter((child) => leads[child]) : run.children[row];
    const open = children.length > 0 && expanded.has(row);
    rows.push({
      row,
      depth,
      open,
      leaf: children.length === 0,
      dim: Boolean(marks && !marks[row]),
    });
    if (open)
      for (let at = children.length - 1; at >= 0; at -= 1) stack.push([children[at], depth + 1]);
  }
  return rows;
}

// One mark per row that is marked or has such a row below it. Children stand after their parents.
export function leadingTo(run, marks) {
  const leads = Uint8Array.from(marks);
  for (let row = run.count - 1; row > 0; row -= 1) if (leads[row]) leads[run.parent[row]] = 1;
  return leads;
}

// All marked rows, sorted by a column; what is not known comes last whichever way it goes.
export function sortedRows(run, column, descending, marks) {
  const values = run.nodes[column];
  const text = column === "status" ? run.nodes.status_names : null;
  const key = (row) => (text ? text[values[row]] : values[row]);
  const rows = [];
  for (let row = 0; row < run.count; row += 1) if (!marks || marks[row]) rows.push(row);
  rows.sort((a, b) => compare(key(a), key(b), descending) || a - b);
  return rows.map((row) => ({ row, depth: 0, open: false, leaf: true, dim: false }));
}

function compare(a, b, descending) {
  if (a === b) return 0;
  if (a === null || a === "") return 1;
  if (b === null || b === "") return -1;
  return (a < b ? -1 : 1) * (descending ? -1 : 1);
}
