"""Chunking a batch of files: what one worker process does.

It imports little, because several are started for every build.
"""

from __future__ import annotations

import gc
import marshal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from cutlass_search.index.chunks import ChunkedFile, chunk_file
from mcts.errors import InputError


def chunk_files(root: Path, paths: Sequence[str]) -> list[ChunkedFile]:
    """Chunk the files at `paths`, in order. InputError if one of them cannot be read."""
    chunked = []
    for path in paths:
        try:
            text = (root / path).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise InputError(f"cannot read {root / path}: {error.strerror}") from None
        chunked.append(chunk_file(path, text))
    return chunked


def send(value: Any, stream: IO[bytes]) -> None:
    """Write `value` with its length in front of it, for `receive`."""
    body = marshal.dumps(value)
    stream.write(b"%d\n" % len(body))
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read what `send` wrote. ValueError, EOFError or TypeError if it is cut short or malformed.

    The message is read in one piece: `marshal.load` would ask the stream for every number and word.
    """
    size = stream.readline()
    if not size:
        raise EOFError
    return marshal.loads(stream.read(int(size)))


def serve() -> None:
    """The loop of a worker: read a root and paths, write the chunked files, until input ends.

    A worker is short-lived, so garbage collection would only cost time.
    """
    gc.disable()
    while True:
        try:
            root, *paths = receive(sys.stdin.buffer)
        except EOFError:
            return
        chunked = [
            (one.path, one.lines, list(map(tuple, one.chunks)), list(map(tuple, one.symbols)))
            for one in chunk_files(Path(root), paths)
        ]
        send(chunked, sys.stdout.buffer)
