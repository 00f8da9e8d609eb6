// The run: its nodes by row (their place in the columns), with the tree that they form.

export class Run {
  constructor(data) {
    this.data = data;
    this.nodes = data.nodes;
    this.count = data.nodes.id.length;
    this.rowOf = new Map(data.nodes.id.map((id, row) => [id, row]));
    this.parent = data.nodes.parent.map((id) => (id === null ? -1 : this.rowOf.get(id)));
    this.children = Array.from({ length: this.count }, () => []);
    this.parent.forEach((parent, row) => parent >= 0 && this.children[parent].push(row));
    this.best = this.rowOf.get(data.best);
    this.path = new Set(data.path.map((id) => this.rowOf.get(id)));
    this.top = Math.max(
      ...data.path.map((id) => this.nodes.speedup[this.rowOf.get(id)] ?? 1),
      1.02,
    );
  }

  status(row) {
    return this.nodes.status_names[this.nodes.status[row]];
  }

  methods(row) {
    return this.nodes.methods[row].map((method) => this.nodes.method_names[method]);
  }

  bound(row) {
    const bound = this.nodes.bound[row];
    return bound === null ? "" : this.nodes.bound_names[bound];
  }

  ancestors(row) {
    const found = [];
    for (let at = this.parent[row]; at >= 0; at = this.parent[at]) found.push(at);
    return found;
  }

  bestAncestor(row) {
    const measured = this.ancestors(row).filter((at) => this.nodes.speedup[at] !== null);
    return measured.reduce(
      (best, at) => (best < 0 || this.nodes.speedup[at] > this.nodes.speedup[best] ? at : best),
      -1,
    );
  }

  // What a row is, for colours: best, faster, even, slower, failed or duplicate.
  kind(row) {
    const speedup = this.nodes.speedup[row];
    if (this.status(row) === "duplicate") return "duplicate";
    if (speedup === null) return "failed";
    if (row === this.best) return "best";
    if (this.nodes.low[row] > 1) return "faster";
    return this.nodes.high[row] < 1 ? "slower" : "even";
  }
}
