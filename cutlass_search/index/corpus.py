"""The CUTLASS tree that is searched: where it is, its version and its licence."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mcts.errors import InputError

WHEEL = "nvidia-cutlass"
SEARCHED = ("include", "examples", "tools/util", "media/docs/cpp", "README.md")
"""What is indexed: the library, its examples, what they include, and the documentation."""
SUFFIXES = (".h", ".hpp", ".cuh", ".cu", ".inl", ".cpp", ".md")
MOST_FILES = 20_000
MOST_BYTES = 4 * 1024 * 1024
"""A larger file is neither indexed nor read."""

_VERSION = Path("include/cutlass/version.h")
_PART = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+CUTLASS_(MAJOR|MINOR|PATCH)[ \t]+(\d+)", re.MULTILINE
)
_SPDX = re.compile(r"SPDX-License-Identifier:\s*([\w.+-]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file of the tree; `path` is relative to the root, with slashes."""

    path: str
    size: int
    changed_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A CUTLASS tree.

    root: resolved, so that links out of it can be recognised; version: such as ``4.2.0``; licence:
    its SPDX name, or ``unknown`` if the tree does not say; origin: how it was found, for people.
    """

    root: Path
    version: str
    licence: str
    origin: str

    def files(self) -> tuple[SourceFile, ...]:
        """The files to index, by path. Links are not followed. InputError if there are too many."""
        found: list[SourceFile] = []
        for top in SEARCHED:
            for one in _walk(self.root, top):
                found.append(one)
                if len(found) > MOST_FILES:
                    raise InputError(
                        f"{self.root} holds more than {MOST_FILES} source files: this is no "
                        "CUTLASS tree"
                    )
        return tuple(sorted(found, key=lambda one: one.path))


def open_corpus(root: Path | None = None) -> Corpus:
    """Find the tree at `root`, or without one that of an installed wheel.

    `root` may also be a folder into which the wheel was unpacked. InputError if there is no tree.
    """
    if root is None:
        root, origin = _installed(), f"the wheel {WHEEL}"
    else:
        origin = str(root)
    inner = root / "cutlass_library" / "source"
    try:
        place = (inner if (inner / _VERSION).is_file() else root).resolve()
        header = (place / _VERSION).read_text(encoding="utf-8", errors="replace")
    except (OSError, RuntimeError):
        raise InputError(
            f"{root} is no CUTLASS tree: it has no {_VERSION.as_posix()}. Name a checkout of "
            f"CUTLASS, or name none and `pip install --no-deps {WHEEL}`"
        ) from None
    parts = dict(_PART.findall(header))
    if set(parts) != {"MAJOR", "MINOR", "PATCH"}:
        raise InputError(f"{place / _VERSION} does not say which version of CUTLASS this is")
    version = ".".join(parts[key] for key in ("MAJOR", "MINOR", "PATCH"))
    licence = _SPDX.search(header)
    return Corpus(
        root=place,
        version=version,
        licence=licence[1] if licence else "unknown",
        origin=origin,
    )


def fingerprint(files: tuple[SourceFile, ...]) -> str:
    """A hash over names, sizes and times; an index with another one is stale."""
    lines = "\n".join(f"{one.path}\t{one.size}\t{one.changed_ns}" for one in files)
    return hashlib.sha256(lines.encode()).hexdigest()


def _installed() -> Path:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution(WHEEL)
    except PackageNotFoundError:
        raise InputError(
            f"no CUTLASS tree: name a checkout of CUTLASS, or `pip install --no-deps {WHEEL}`"
        ) from None
    return Path(str(found.locate_file("cutlass_library/source")))


def _walk(root: Path, path: str) -> Iterator[SourceFile]:
    place = root / path
    if place.is_symlink():
        return
    if place.is_file():
        about = place.stat()
        yield SourceFile(path=path, size=about.st_size, changed_ns=about.st_mtime_ns)
        return
    folders = [path]
    while folders:
        folder = folders.pop()
        for entry in _entries(root / folder):
            inner = f"{folder}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                folders.append(inner)
            elif entry.name.endswith(SUFFIXES) and entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    about = entry.stat(follow_symlinks=False)
                    if about.st_size <= MOST_BYTES:
                        yield SourceFile(
                            path=inner, size=about.st_size, changed_ns=about.st_mtime_ns
                        )


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """The entries of `folder` that are not hidden; empty if it does not exist (any more)."""
    try:
        with os.scandir(folder) as found:
            return [one for one in found if not one.name.startswith(".") and one.name.isprintable()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"cannot read {folder}: {error.strerror}") from None
