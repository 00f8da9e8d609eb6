"""The problem files of a KernelBench checkout, by level and number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mcts.errors import InputError

_LEVEL = re.compile(r"level(\d+)")
_FILE = re.compile(r"(\d+)(?:_.*)?\.py")
_ITEM = re.compile(r"(\d+)(?:-(\d+))?")
_SHOWN = 8


@dataclass(frozen=True, slots=True, order=True)
class ProblemFile:
    """One problem: its number is the prefix of its file's name."""

    level: int
    number: int
    path: Path

    @property
    def key(self) -> str:
        """``level2_40``: what its run, its outcome and its kernel are called."""
        return f"level{self.level}_{self.number}"


def problems_of(root: Path, level: int) -> dict[int, ProblemFile]:
    """The problems of a level by number, from a checkout or from a folder of levels.

    InputError if there is no such level, none is in it, or a number stands for two files.
    """
    folder = levels_of(root).get(level)
    if folder is None:
        raise InputError(_no_level(root, level))
    found: dict[int, ProblemFile] = {}
    for path in sorted(folder.iterdir()):
        if (match := _FILE.fullmatch(path.name)) is None or not path.is_file():
            continue
        problem = ProblemFile(level=level, number=int(match[1]), path=path)
        if (other := found.setdefault(problem.number, problem)) is not problem:
            raise InputError(
                f"{folder}: {other.path.name} and {path.name} are both problem {problem.number}"
            )
    if not found:
        raise InputError(f"{folder} holds no problem: their files are called NUMBER_NAME.py")
    return dict(sorted(found.items()))


def chosen(problems: Mapping[int, ProblemFile], words: str) -> list[ProblemFile]:
    """What ``1,5,10-20`` or ``all`` chooses, by number. InputError for a number that is not there.

    A range takes what lies within it.
    """
    if words.strip() == "all":
        return list(problems.values())
    numbers: set[int] = set()
    for word in words.split(","):
        numbers |= _numbers(problems, word.strip())
    return [problems[number] for number in sorted(numbers)]


def _numbers(problems: Mapping[int, ProblemFile], word: str) -> set[int]:
    match = _ITEM.fullmatch(word)
    if match is None:
        raise InputError(f"--problems {word!r}: write numbers and ranges, as 1,5,10-20, or all")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise InputError(f"--problems {word}: the range ends before it begins")
    found = {number for number in problems if first <= number <= last}
    if not found:
        folder = next(iter(problems.values())).path.parent
        raise InputError(f"--problems {word}: {folder} has {_spans(sorted(problems))}")
    return found


def _spans(numbers: list[int]) -> str:
    """``1-100``, or ``1, 3, 7-9`` where some are missing."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    shown = [str(low) if low == high else f"{low}-{high}" for low, high in spans[:_SHOWN]]
    return ", ".join(shown) + (", ..." if len(spans) > _SHOWN else "")


def levels_of(root: Path) -> dict[int, Path]:
    """Folders of levels by number: of a checkout, in its `KernelBench/`, or of `root` itself."""
    inner = root / "KernelBench"
    holder = inner if inner.is_dir() else root
    if not holder.is_dir():
        there = "is a file" if root.exists() else "does not exist"
        raise InputError(f"--root {root} {there}: give a KernelBench checkout")
    return {
        int(match[1]): path
        for path in holder.iterdir()
        if path.is_dir() and (match := _LEVEL.fullmatch(path.name))
    }


def _no_level(root: Path, level: int) -> str:
    levels = sorted(levels_of(root))
    if levels:
        return f"--root {root} has no level {level}, only {', '.join(map(str, levels))}"
    if _LEVEL.fullmatch(root.name):
        return f"--root {root} is a level itself: give the folder that holds it"
    return (
        f"--root {root} is no KernelBench checkout: it has no folder level{level}; "
        "git clone https://github.com/ScalingIntelligence/KernelBench"
    )
