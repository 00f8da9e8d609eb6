"""Cost of the search itself: ``python tests/benchmarks/bench_search.py [NODES]``.

Prints the median time of one ask and tell per thousand nodes, and the memory per node. It asserts
nothing: machines are noisy.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
import tracemalloc

from mcts.search import Search
from mcts.trial import Outcome


def main(nodes: int) -> None:
    rng = random.Random(0)
    tracemalloc.start()
    search = Search(Outcome("measured", reward=0.1, prior=1.0), seed=1)
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(nodes):
        trial = search.ask()
        assert trial is not None
        search.tell(trial.id, Outcome("measured", reward=rng.random()))
    per_node = (tracemalloc.get_traced_memory()[0] - before) / nodes
    tracemalloc.stop()

    search = Search(Outcome("measured", reward=0.1, prior=1.0), seed=1)
    rng = random.Random(0)
    print(f"{'nodes':>8} {'ask+tell, us (median)':>22} {'depth':>6}")
    laps: list[float] = []
    for count in range(1, nodes + 1):
        start = time.perf_counter()
        trial = search.ask()
        assert trial is not None
        search.tell(trial.id, Outcome("measured", reward=rng.random()))
        laps.append(time.perf_counter() - start)
        if count % max(1, nodes // 10) == 0:
            depth = sum(1 for _ in search.tree.nodes[trial.id].lineage()) - 1
            print(f"{count:>8} {statistics.median(laps) * 1e6:>22.1f} {depth:>6}")
            laps.clear()
    print(f"memory per node: {per_node:.0f} bytes")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
