"""Chunking many files in several processes.

The workers are plain interpreters that read their work from standard input: `multiprocessing` would
import the caller's own program a second time. A worker takes one batch after the other, so that
the identifiers it has split once are cached for the next batch.
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

from cutlass_search.index.chunking_worker import chunk_files, receive, send
from cutlass_search.index.chunks import Chunk, ChunkedFile, Symbol
from cutlass_search.index.corpus import SourceFile

ENOUGH_FOR_PROCESSES = 200
_MOST_PROCESSES = 8
_BATCHES_PER_PROCESS = 4
"""The last batches even out what the first ones took, and the first ones are written to the index
while the last ones are chunked."""
_PROGRAM = "from cutlass_search.index.chunking_worker import serve; serve()"


def chunk_all(root: Path, sources: Sequence[SourceFile]) -> Iterator[ChunkedFile]:
    """Chunk all files, in any order; in several processes if there are enough files."""
    processes = min(_MOST_PROCESSES, len(os.sched_getaffinity(0)))
    if processes == 1 or len(sources) < ENOUGH_FOR_PROCESSES:
        yield from chunk_files(root, [one.path for one in sources])
        return
    batches = _batches(sources, processes * _BATCHES_PER_PROCESS)
    workers = _Workers(root)
    try:
        with ThreadPoolExecutor(processes) as pool:
            for chunked in pool.map(workers.chunk, batches):
                yield from chunked
    finally:
        workers.end()


class _Workers:
    """Worker processes; another one is started if none is idle."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()

    def chunk(self, paths: list[str]) -> list[ChunkedFile]:
        """`chunk_files` in a worker; in this process if none can be started or it ends early."""
        try:
            worker = self._take()
        except OSError:
            return chunk_files(self._root, paths)
        try:
            assert worker.stdin and worker.stdout
            send([str(self._root), *paths], worker.stdin)
            chunked = [
                ChunkedFile(path, lines, [*map(Chunk._make, chunks)], [*map(Symbol._make, symbols)])
                for path, lines, chunks, symbols in receive(worker.stdout)
            ]
        except (OSError, EOFError, ValueError, TypeError):
            _end(worker)
            return chunk_files(self._root, paths)
        self._idle.put(worker)
        return chunked

    def end(self) -> None:
        """End the idle workers."""
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
    # Closing flushes what was written, which fails if the worker is gone.
    with suppress(BrokenPipeError), worker:
        pass


def _batches(sources: Sequence[SourceFile], count: int) -> list[list[str]]:
    """`count` batches of paths, of about equal size in bytes."""
    shares: list[list[str]] = [[] for _ in range(count)]
    sizes = [0] * count
    for one in sorted(sources, key=lambda one: -one.size):
        least = sizes.index(min(sizes))
        shares[least].append(one.path)
        sizes[least] += one.size
    return [share for share in shares if share]
