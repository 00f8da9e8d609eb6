"""Cutting many files in several processes.

The processes are plain interpreters that are told what to do on their input, so that the caller's
own program is not imported a second time, as `multiprocessing` would.
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cutlass_search.chunks import Cut, cut
from cutlass_search.corpus import SourceFile
from mcts.errors import InputError

ENOUGH_FOR_PROCESSES = 200
_MOST_PROCESSES = 8
_PORTIONS = 2
"""Portions per process: the second ones even out what the first ones took."""
_PROGRAM = "from cutlass_search.cutting import serve; serve()"


def cut_all(root: Path, sources: Sequence[SourceFile]) -> Iterator[Cut]:
    """The files cut, in any order; by several processes where that is worth their start."""
    processes = min(_MOST_PROCESSES, len(os.sched_getaffinity(0)))
    if processes == 1 or len(sources) < ENOUGH_FOR_PROCESSES:
        yield from cut_here(root, [one.path for one in sources])
        return
    portions = _portions(sources, processes * _PORTIONS)
    with ThreadPoolExecutor(processes) as pool:
        for cuts in pool.map(lambda paths: _cut_elsewhere(root, paths), portions):
            yield from cuts


def cut_here(root: Path, paths: Sequence[str]) -> list[Cut]:
    """The files at `paths` cut, one after the other. InputError for one that cannot be read."""
    cuts = []
    for path in paths:
        try:
            text = (root / path).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise InputError(f"cannot read {root / path}: {error.strerror}") from None
        cuts.append(cut(path, text))
    return cuts


def serve() -> None:
    """What a process does: read a root and paths, write their cuts.

    It ends at once, so that looking for garbage would only take time.
    """
    gc.disable()
    root, paths = pickle.load(sys.stdin.buffer)
    pickle.dump(cut_here(root, paths), sys.stdout.buffer)


def _cut_elsewhere(root: Path, paths: list[str]) -> list[Cut]:
    """As `cut_here`, in a process of its own; here where none can be had."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        input=pickle.dumps((root, paths)),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    if done.returncode != 0:
        return cut_here(root, paths)
    cuts: list[Cut] = pickle.loads(done.stdout)
    return cuts


def _portions(sources: Sequence[SourceFile], count: int) -> list[list[str]]:
    """About equal shares by size."""
    shares: list[list[str]] = [[] for _ in range(count)]
    sizes = [0] * count
    for one in sorted(sources, key=lambda one: -one.size):
        least = sizes.index(min(sizes))
        shares[least].append(one.path)
        sizes[least] += one.size
    return [share for share in shares if share]
