"""Cost of a scripted proposal on a large space: ``python tests/benchmarks/bench_scripted.py``

Prints the median and the 95th percentile over 200 proposals on a space of 10 tunables whose
recording holds 5000 rows.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from codegen.scripted.proposer import ScriptedProposer
from tests.codegen.cases import ask, space_task

_PROPOSALS = 200


def main() -> None:
    task = space_task(tunables=10, values=4, rows=5000)
    proposer = ScriptedProposer()
    tried: set[str] = set()
    ms = []
    for seed in range(_PROPOSALS):
        request = ask(task, tried=frozenset(tried), seed=seed)
        begin = time.perf_counter()
        tried.add(proposer.propose(request).candidate.id)
        ms.append((time.perf_counter() - begin) * 1e3)
    last = statistics.quantiles(ms, n=20)[-1]
    print(f"a scripted proposal: median {statistics.median(ms):.2f} ms, 95 % {last:.2f} ms")


if __name__ == "__main__":
    main()
