"""Cutting a portion of the files: what one process does.

It imports little, because it is started for every build.
"""

from __future__ import annotations

import gc
import marshal
import sys
from collections.abc import Sequence
from pathlib import Path

from cutlass_search.chunks import Cut, cut
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


def serve() -> None:
    """What a process does: read a root and paths, write their cuts, until there are no more.

    It ends soon, so that looking for garbage would only take time.
    """
    gc.disable()
    while True:
        try:
            root, *paths = marshal.load(sys.stdin.buffer)
        except EOFError:
            return
        cuts = [
            (one.path, one.lines, list(map(tuple, one.chunks)), list(map(tuple, one.symbols)))
            for one in cut_here(Path(root), paths)
        ]
        marshal.dump(cuts, sys.stdout.buffer)
        sys.stdout.buffer.flush()
