"""Reading a file of the tree, and nothing but a file of the tree.

The path comes from a model: it may climb, be absolute, go through a link, name a pipe or a file of
ten megabytes. Each of these is refused in one line.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from cutlass_search.index.corpus import MOST_BYTES
from mcts.errors import InputError

MOST_LINES = 400
MOST_CHARACTERS = 40_000
MOST_LINE = 500
"""Characters of a line that are shown."""

_LINES = re.compile(r"\s*(\d{1,9})\s*(?:(?:-|:|\.\.|,)\s*(\d{1,9})?\s*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Lines `first` to `last` of `path`, which has `total`; `cut` says that more was asked for."""

    path: str
    first: int
    last: int
    total: int
    text: str
    cut: bool


def read_passage(root: Path, path: str, lines: str | None = None) -> Passage:
    """Lines of the file at `path`, relative to `root`; without `lines`, from its start.

    lines: ``120`` (from that line on) or ``120-180``. `root` is resolved. InputError if the path is
    not that of a text file inside of `root`, if the file is too large, or has fewer lines.
    """
    place = inside(root, path)
    first, last = _range(lines)
    every = _text(place, path).splitlines()
    if first > max(1, len(every)):
        raise InputError(f"{path} has {len(every)} lines: there is no line {first}")
    end = len(every) if last is None else min(last, len(every))
    shown, size = [], 0
    for line in every[first - 1 : min(end, first - 1 + MOST_LINES)]:
        line = line if len(line) <= MOST_LINE else f"{line[:MOST_LINE]} ..."
        size += len(line) + 1
        if size > MOST_CHARACTERS:
            break
        shown.append(line)
    until = first + len(shown) - 1
    return Passage(
        path=place.relative_to(root).as_posix(),
        first=first,
        last=until,
        total=len(every),
        text="\n".join(shown),
        cut=until < end,
    )


def inside(root: Path, path: str) -> Path:
    """Resolve `path`, links included. InputError if it is not inside of `root`."""
    if not path or "\0" in path or len(path) > 1_000:
        raise InputError("name a file by its path inside of the CUTLASS tree")
    try:
        place = (root / path).resolve()
    except (OSError, RuntimeError):
        raise InputError(f"there is no file {path} in the CUTLASS tree") from None
    if not place.is_relative_to(root):
        raise InputError(f"{path} lies outside of the CUTLASS tree: only files in it can be read")
    if any(part.startswith(".") for part in place.relative_to(root).parts):
        raise InputError(f"{path} is hidden: only CUTLASS's own files can be read")
    return place


def _text(place: Path, path: str) -> str:
    try:
        # A pipe must not block, and the checks below are made on what was opened.
        handle = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as error:
        why = "there is no file" if isinstance(error, FileNotFoundError) else "cannot read"
        raise InputError(f"{why} {path} in the CUTLASS tree: search for it first") from None
    try:
        about = os.fstat(handle)
        if stat.S_ISDIR(about.st_mode):
            raise InputError(f"{path} is a folder: name a file in it")
        if not stat.S_ISREG(about.st_mode):
            raise InputError(f"{path} is no file")
        if about.st_size > MOST_BYTES:
            raise InputError(
                f"{path} has {about.st_size / 1e6:.1f} MB, more than the {MOST_BYTES / 1e6:.1f} MB "
                "that are read: ask for a definition in it instead"
            )
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(MOST_BYTES + 1)
    finally:
        os.close(handle)
    if b"\0" in data:
        raise InputError(f"{path} is no text")
    return data.decode("utf-8", errors="replace")


def _range(lines: str | None) -> tuple[int, int | None]:
    if lines is None or not lines.strip():
        return 1, None
    found = _LINES.fullmatch(lines)
    if found is None:
        raise InputError(f"lines {lines[:40]!r}: name them as 120 or 120-180")
    first, last = int(found[1]), int(found[2]) if found[2] else None
    if first < 1 or (last is not None and last < first):
        raise InputError(f"lines {lines[:40]!r}: they count from 1, the first in front")
    return first, last
