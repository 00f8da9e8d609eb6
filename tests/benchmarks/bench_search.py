"""Cost of the search itself: ``python tests/benchmarks/bench_search.py [NODES]``.

Prints, for two worlds, the mean and median CPU time of one ask and tell per tenth of NODES, with
the depth of the tree, and the memory per node. `luck`: every reward is drawn anew. `walk`: a reward
is its parent's and a small step, one in ten fails, priors differ, which makes trees deep. It
asserts nothing: machines are noisy. What to look for is that times grow no faster than the depth.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable

from mcts.search.puct import Puct, PuctSettings
from mcts.search.tree import FIXED_POINT
from mcts.search.trial import Outcome

World = Callable[[random.Random, float], Outcome]


def luck(rng: random.Random, parent: float) -> Outcome:
    return Outcome("measured", reward=rng.random())


def walk(rng: random.Random, parent: float) -> Outcome:
    prior = rng.uniform(0.1, 0.9)
    if rng.random() < 0.1:
        return Outcome("failed", prior=prior)
    reward = min(1.0, max(0.0, parent + rng.gauss(-0.01, 0.02)))
    return Outcome("measured", reward=reward, prior=prior)


def lap(search: Puct, world: World, rng: random.Random) -> tuple[float, int]:
    """Seconds of one ask and tell, and the depth of the trial."""
    start = time.process_time()
    trial = search.ask()
    asked = time.process_time()
    assert trial is not None
    parent = search.tree.nodes[trial.parent]
    outcome = world(rng, parent.reward / FIXED_POINT)
    told = time.process_time()
    search.tell(trial.id, outcome)
    seconds = asked - start + time.process_time() - told
    return seconds, sum(1 for _ in parent.lineage())


def begun() -> Puct:
    return PuctSettings().begin(Outcome("measured", reward=0.1, prior=1.0), seed=1)


def times(world: World, nodes: int) -> None:
    search, rng = begun(), random.Random(0)
    print(f"{world.__name__:>8} {'ask+tell, us: mean':>20} {'median':>8} {'depth: mean':>12}")
    for tenth in range(1, 11):
        laps = [lap(search, world, rng) for _ in range(nodes // 10)]
        mean = statistics.mean(seconds for seconds, _ in laps) * 1e6
        median = statistics.median(seconds for seconds, _ in laps) * 1e6
        depth = statistics.mean(depth for _, depth in laps)
        print(f"{tenth * (nodes // 10):>8} {mean:>20.1f} {median:>8.1f} {depth:>12.1f}")


def memory(nodes: int) -> float:
    """Bytes per node, without sources."""
    rng = random.Random(0)
    tracemalloc.start()
    search = begun()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(nodes):
        lap(search, luck, rng)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / nodes


def main(nodes: int) -> None:
    for world in (luck, walk):
        times(world, nodes)
    print(f"memory per node: {memory(nodes):.0f} bytes")


if __name__ == "__main__":
    main(max(10, int(sys.argv[1])) if len(sys.argv) > 1 else 10_000)
