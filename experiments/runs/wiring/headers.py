"""Folders of headers that `host` candidates may include: those named, else an installed CUTLASS."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcts.errors import InputError

_PARTS = ("include", "tools/util/include")
_WITHIN = ("include", "source/include", "cutlass_library/source/include")


def include_folders(given: Sequence[Path]) -> tuple[Path, ...]:
    """Absolute folders for the compiler. A CUTLASS tree stands for the folders in it that hold
    headers; nothing given stands for the tree of the wheel `nvidia-cutlass`, where it is installed.

    InputError for what is no folder.
    """
    found = [folder for path in given for folder in _folders(path)]
    if not given and (tree := _installed()) is not None:
        found = _cutlass(tree)
    return tuple(dict.fromkeys(found))


def _folders(path: Path) -> list[Path]:
    if not path.is_dir():
        raise InputError(f"--include {path} is not a folder")
    whole = path.resolve()
    for inner in _WITHIN:
        if (whole / inner / "cutlass" / "version.h").is_file():
            return _cutlass((whole / inner).parent)
    return [whole]


def _cutlass(tree: Path) -> list[Path]:
    return [tree / part for part in _PARTS if (tree / part).is_dir()]


def _installed() -> Path | None:
    from cutlass_search.index.corpus import open_corpus

    try:
        return open_corpus().root
    except InputError:
        return None
