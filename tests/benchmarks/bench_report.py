"""Time to open a large report: ``python -m tests.benchmarks.bench_report [NODES] [--long]``.

Makes the report of a synthetic run, opens it in a headless Chromium five times, and prints the
median times from the navigation to the page of the best node, of unfolding the whole tree, and of a
search. With ``--long`` every node has a source of its own of 6 kB. It asserts nothing: machines are
noisy. Needs playwright and chromium.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.views.report.page import report_html
from mcts.journal.record import NodeRecord, Result
from mcts.journal.summary import Provenance
from tests.support.browser import chromium, opened
from tests.support.large_run import large_result

RUN = Provenance(task="synthetic", evaluator="gpu", hardware="none", proposer="none", seed=0)
ROUNDS = 5
LINES = 150


def main(nodes: int, *, long: bool) -> None:
    result = large_result(nodes)
    if long:
        result = with_long_sources(result)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        begin = time.perf_counter()
        path.write_text(report_html(run=RUN, result=result, svg=None), "utf-8")
        written = time.perf_counter() - begin
        size = path.stat().st_size / 1e6
        print(f"{nodes:,} nodes: written in {written:.1f} s, {size:.1f} MB")
        with chromium() as browser:
            rounds = [_round(browser, path, nodes) for _ in range(ROUNDS)]
    for at, name in enumerate(("opened", "unfolded", "searched")):
        times = [each[at] for each in rounds]
        print(f"{name:9} {statistics.median(times):.2f} s (to {max(times):.2f})")


def with_long_sources(result: Result) -> Result:
    """`result` in which each node's source has lines of its own."""
    rng = random.Random(1)

    def lengthened(node: NodeRecord) -> NodeRecord:
        assert node.candidate is not None
        body = "".join(
            f"    float r{line} = x[{rng.randrange(9999)}] * {rng.random():.6f}f;\n"
            for line in range(LINES)
        )
        return replace(node, candidate=node.candidate.model_copy(update={"source": body}))

    return replace(result, nodes=tuple(map(lengthened, result.nodes)))


def _round(browser: Any, path: Path, nodes: int) -> tuple[float, float, float]:
    begin = time.perf_counter()
    with opened(browser, path) as (page, _):
        page.wait_for_selector(".tab-body > *")
        ready = time.perf_counter() - begin
        unfold = _timed(lambda: page.get_by_role("button", name="Expand all").click())
        search = _timed(lambda: _search(page, nodes))
    return ready, unfold, search


def _search(page: Any, nodes: int) -> None:
    page.get_by_role("searchbox").fill(f"#{nodes - 1}")
    page.locator(".buttons [role=status]", has_text=" of ").wait_for()


def _timed(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--long"]
    main(int(words[0]) if words else 20_000, long="--long" in sys.argv)
