"""Cost of looking things up in CUTLASS: ``python tests/benchmarks/bench_cutlass.py [--root TREE]``.

Prints how long it takes to build the index, to build it again after one file changed, to open it
and to ask it, and how busy the machine was meanwhile. It asserts nothing: machines are noisy. A
question's time is the best of several, so as to leave other work out; *first* are questions whose
words were never asked before, *again* those of a session.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from cutlass_search.index.building import build
from cutlass_search.index.corpus import Corpus, open_corpus
from cutlass_search.index.store import Index, open_index
from cutlass_search.search.searching import find
from experiments.benchmarks.evidence.cutlass_retrieval_questions import QUESTIONS

_TURNS = 12
_SLOWEST = 3


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description="Cost of looking things up in CUTLASS.")
    parser.add_argument("--root", type=Path, help="the tree; default: an installed nvidia-cutlass")
    parser.add_argument("--builds", type=int, default=5, help="how often to build")
    options = parser.parse_args()
    corpus = open_corpus(options.root)
    cores = len(os.sched_getaffinity(0))
    print(f"CUTLASS {corpus.version}, {len(corpus.files())} files; {cores} cores, {_load()}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _builds(corpus, folder, options.builds)
        _open(corpus, folder).connection.close()
        _tell("open", [_wall(lambda: _open(corpus, folder).connection.close()) for _ in range(20)])
        with _open(corpus, folder) as index:
            _questions(index)
    print(f"load at the end: {_load()}")


def _builds(corpus: Corpus, folder: Path, turns: int) -> None:
    path = folder / "built.sqlite"
    sources = corpus.files()
    whole, cpu = [], []
    for _ in range(turns):
        before = _cpu_s()
        whole.append(_wall(lambda: build(corpus, sources, path)))
        cpu.append(_cpu_s() - before)
    _tell("build", whole, unit="s")
    print(f"{'':10} of which CPU, all processes: median {statistics.median(cpu):.2f} s")
    changed = (replace(sources[0], changed_ns=0), *sources[1:])
    again = [
        _wall(lambda: build(corpus, changed, folder / "again.sqlite", older=path))
        for _ in range(turns)
    ]
    _tell("one file", again, unit="s")
    print(f"{'':10} the index has {path.stat().st_size / 1e6:.1f} MB")


def _questions(index: Index) -> None:
    texts = [one.text for one in QUESTIONS]
    opening = _wall(lambda: find(index, texts[0]))
    print(f"{'the first':10} of all, in a new process: {1e3 * opening:.1f} ms")
    first = dict.fromkeys(texts, float("inf"))
    again = dict.fromkeys(texts, float("inf"))
    for _ in range(_TURNS):
        for text in texts:
            index.clear_cache()
            first[text] = min(first[text], _wall(lambda text=text: find(index, text)))
            again[text] = min(again[text], _wall(lambda text=text: find(index, text)))
    _tell("first", [*first.values()])
    for text in sorted(texts, key=lambda text: -first[text])[:_SLOWEST]:
        print(f"{'':10} {1e3 * first[text]:.1f} ms: {text}")
    _tell("again", [*again.values()])


def _open(corpus: Corpus, folder: Path) -> Index:
    return open_index(corpus, folder=folder)


def _tell(what: str, seconds: list[float], *, unit: str = "ms") -> None:
    scale = 1e3 if unit == "ms" else 1.0
    ordered = sorted(one * scale for one in seconds)
    tenth = ordered[int(0.9 * (len(ordered) - 1))]
    print(
        f"{what:10} median {statistics.median(ordered):.2f} {unit}, best {ordered[0]:.2f}, "
        f"nine of ten under {tenth:.2f}, worst {ordered[-1]:.2f} (of {len(ordered)})"
    )


def _wall(do: Callable[[], object]) -> float:
    start = time.perf_counter()
    do()
    return time.perf_counter() - start


def _cpu_s() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _load() -> str:
    return "load " + " ".join(f"{one:.1f}" for one in os.getloadavg())


if __name__ == "__main__":
    main()
