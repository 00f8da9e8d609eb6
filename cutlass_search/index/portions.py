"""Cutting a portion of the files: what one process does.

It imports little, because it is started for every build.
"""

from __future__ import annotations

import gc
import marshal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from cutlass_search.index.chunks import Cut, cut
from mcts.errors import InputError


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


def send(value: Any, stream: IO[bytes]) -> None:
    """Write `value`, its length in front of it, for `receive`."""
    body = marshal.dumps(value)
    stream.write(b"%d\n" % len(body))
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """What `send` wrote. ValueError, EOFError or TypeError where it ends early or is none of it.

    It is read in one piece: `marshal.load` would ask the stream for every number and every word.
    """
    size = stream.readline()
    if not size:
        raise EOFError
    return marshal.loads(stream.read(int(size)))


def serve() -> None:
    """What a process does: read a root and paths, write their cuts, until there are no more.

    It ends soon, so that looking for garbage would only take time.
    """
    gc.disable()
    while True:
        try:
            root, *paths = receive(sys.stdin.buffer)
        except EOFError:
            return
        cuts = [
            (one.path, one.lines, list(map(tuple, one.chunks)), list(map(tuple, one.symbols)))
            for one in cut_here(Path(root), paths)
        ]
        send(cuts, sys.stdout.buffer)
