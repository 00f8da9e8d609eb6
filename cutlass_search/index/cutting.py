"""Cutting many files in several processes.

The processes are plain interpreters that are told what to do on their input, so that the caller's
own program is not imported a second time, as `multiprocessing` would. Each takes one portion after
the other: what it learned about identifiers serves the next one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from cutlass_search.index.chunks import Chunk, Cut, Symbol
from cutlass_search.index.corpus import SourceFile
from cutlass_search.index.portions import cut_here, receive, send

ENOUGH_FOR_PROCESSES = 200
_MOST_PROCESSES = 8
_PORTIONS = 4
"""Portions per process: the last ones even out what the first ones took, and while they are cut,
the first ones are written."""
_PROGRAM = "from cutlass_search.index.portions import serve; serve()"


def cut_all(root: Path, sources: Sequence[SourceFile]) -> Iterator[Cut]:
    """The files cut, in any order; by several processes where that is worth their start."""
    processes = min(_MOST_PROCESSES, len(os.sched_getaffinity(0)))
    if processes == 1 or len(sources) < ENOUGH_FOR_PROCESSES:
        yield from cut_here(root, [one.path for one in sources])
        return
    portions = _portions(sources, processes * _PORTIONS)
    workers = _Workers(root)
    try:
        with ThreadPoolExecutor(processes) as pool:
            for cuts in pool.map(workers.cut, portions):
                yield from cuts
    finally:
        workers.end()


class _Workers:
    """Processes that cut; one is started where all are at work."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()

    def cut(self, paths: list[str]) -> list[Cut]:
        """As `cut_here`, in another process; here where none can be had or one ends early."""
        try:
            worker = self._take()
        except OSError:
            return cut_here(self._root, paths)
        try:
            assert worker.stdin and worker.stdout
            send([str(self._root), *paths], worker.stdin)
            cuts = [
                Cut(path, lines, [*map(Chunk._make, chunks)], [*map(Symbol._make, symbols)])
                for path, lines, chunks, symbols in receive(worker.stdout)
            ]
        except (OSError, EOFError, ValueError, TypeError):
            _end(worker)
            return cut_here(self._root, paths)
        self._idle.put(worker)
        return cuts

    def end(self) -> None:
        """End those that wait for more."""
        while not self._idle.empty():
            _end(self._idle.get())

    def _take(self) -> subprocess.Popen[bytes]:
        try:
            return self._idle.get_nowait()
        except Empty:
            return subprocess.Popen(
                [sys.executable, "-c", _PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )


def _end(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    # What was written to one that is gone cannot be flushed.
    with suppress(BrokenPipeError), worker:
        pass


def _portions(sources: Sequence[SourceFile], count: int) -> list[list[str]]:
    """About equal shares by size."""
    shares: list[list[str]] = [[] for _ in range(count)]
    sizes = [0] * count
    for one in sorted(sources, key=lambda one: -one.size):
        least = sizes.index(min(sizes))
        shares[least].append(one.path)
        sizes[least] += one.size
    return [share for share in shares if share]
