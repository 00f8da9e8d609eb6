"""A file of recorded expansions: gzipped JSON Lines, each with a checksum.

First a header, then each tree: a line for what is said once, one for each variant and one for each
reply. A changed line is told by its checksum, a missing one by the counts.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from experiments.benchmarks.expansions.tree import ExpansionTree, RecordedRun, Reply, Variant
from experiments.text.words import did_you_mean
from mcts.domain import Noun, first_problem, sealed, unsealed
from mcts.errors import InputError
from mcts.files import write_whole
from mcts.formats import parse_json
from mcts.text import cut, one_line
from profilers.recordings.packed import read_unpacked

FORMAT = 1
MOST_BYTES = 256 << 20
"""A file that unpacks to more is refused."""
_DATA = Path(__file__).parent / "data"
_SUFFIX = ".jsonl.gz"
_MOST_WORDS = 300
"""Characters of what is wrong with a line."""
N = TypeVar("N", bound=Noun)


class _TreeLine(Noun):
    """What is said once of a tree, and how many lines of each kind follow."""

    task: str
    task_id: str
    dialect: str
    hardware: str
    over: str
    root: str
    runs: dict[str, RecordedRun]
    variants: int
    replies: int


def bundled_expansions() -> dict[str, Path]:
    """The files that came with Rooftree, by name."""
    return {path.name.removesuffix(_SUFFIX): path for path in sorted(_DATA.glob(f"*{_SUFFIX}"))}


def find_expansions(given: str, folder: Path = Path()) -> Path:
    """The file `given`, from `folder`, else the bundled one of that name.

    Raises InputError, with the names there are, if it is neither.
    """
    path, known = folder / given, bundled_expansions()
    name = given.removesuffix(_SUFFIX)
    if path.is_file() or name not in known:
        if not path.exists():
            hint = did_you_mean(name, known, behind=" ")
            raise InputError(
                f"{given} does not exist; {hint}bundled expansions: {', '.join(known)}"
            )
        return path
    return known[name]


def write_expansions(path: Path, trees: Sequence[ExpansionTree]) -> None:
    """Write the file, whole or not at all; the same trees give the same bytes. OSError if it
    cannot be written.
    """
    lines = [{"format": FORMAT, "trees": len(trees)}]
    for tree in trees:
        lines += _lines_of(tree)
    text = "".join(
        json.dumps(sealed(line), separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines
    )
    write_whole(path, gzip.compress(text.encode(), compresslevel=9, mtime=0))


def _lines_of(tree: ExpansionTree) -> Iterator[dict[str, Any]]:
    once = tree.model_dump(mode="json", exclude={"variants", "replies"})
    yield {**once, "variants": len(tree.variants), "replies": len(tree.replies)}
    for each in (*tree.variants, *tree.replies):
        yield each.model_dump(mode="json", exclude_defaults=True)


def read_expansions(path: Path) -> tuple[ExpansionTree, ...]:
    """The trees of a file. InputError in one line if it is damaged or something else."""
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a file of recorded expansions")
    data = read_unpacked(path, most=MOST_BYTES)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a file of recorded expansions") from None
    return tuple(_Reader(path, text).trees())


class _Reader:
    """Takes line after line of a file; each must be what is expected there."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._number = path, 0
        *self._lines, self._torn = text.split("\n")

    def trees(self) -> Iterator[ExpansionTree]:
        count = self._header()
        for _ in range(count):
            yield self._tree()
        if self._number < len(self._lines) or self._torn:
            raise self._damaged("there is more than the header says")

    def _header(self) -> int:
        """How many trees follow."""
        try:
            header = self._next()
            version, count = header["format"], header["trees"]
        except (InputError, KeyError):
            version = count = None
        if isinstance(version, int) and version > FORMAT:
            raise InputError(f"{self._path} was written by a newer Rooftree: update Rooftree")
        if version != FORMAT or type(count) is not int:
            raise InputError(
                f"{self._path} is not a file of recorded expansions, or its first line is damaged"
            )
        return count

    def _tree(self) -> ExpansionTree:
        once = self._noun(_TreeLine)
        variants = tuple(self._noun(Variant) for _ in range(once.variants))
        replies = tuple(self._noun(Reply) for _ in range(once.replies))
        known = {name: getattr(once, name) for name in _TreeLine.model_fields}
        try:
            return ExpansionTree(**{**known, "variants": variants, "replies": replies})
        except ValidationError as error:
            why = one_line(first_problem(error), _MOST_WORDS)
            raise InputError(f"{self._path}: {cut(once.task, 80)}: {why}") from None

    def _noun(self, kind: type[N]) -> N:
        content = self._next()
        try:
            return kind.model_validate(content)
        except ValidationError as error:
            raise self._damaged(first_problem(error)) from None

    def _next(self) -> dict[str, Any]:
        if self._number >= len(self._lines):
            raise InputError(f"{self._path} is cut short: it ends behind line {self._number}")
        self._number += 1
        try:
            found = parse_json(self._lines[self._number - 1])
            if not isinstance(found, dict) or "checksum" not in found:
                raise ValueError("it is no object with a checksum")
            return unsealed(found)
        except ValueError as error:
            raise self._damaged(str(error)) from None

    def _damaged(self, why: str) -> InputError:
        told = one_line(why, _MOST_WORDS)
        return InputError(f"{self._path}, line {self._number}: {told}; put a copy of the file back")
