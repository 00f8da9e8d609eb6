"""Which file of a folder answers which problem, by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from experiments.benchmarks.suite.finding import ProblemFile, levels_of, problems_of
from mcts.domain import HOST, KERNELBENCH
from mcts.errors import InputError

SUFFIXES = (KERNELBENCH.suffix, HOST.suffix)
_NAME = re.compile(r"level_?(\d+)_(?:problem_)?(\d+)(?!\d).*")
_NUMBER = re.compile(r"(\d+)(?!\d).*")
_LEVEL = re.compile(r"level_?(\d+)")
_NAMING = "level1_19.py, level_1_problem_19_sample_0_kernel.py, or level1/19_NAME.py"


def candidates_in(folder: Path, root: Path) -> dict[ProblemFile, list[Path]]:
    """The candidates in `folder` by the problem below `root` that they are for, in order.

    `root` is a KernelBench checkout, a folder of levels, or a level. A file says by its name which
    problem it is for: ``level1_19.py``, as a suite calls its kernels,
    ``level_1_problem_19_sample_0_kernel.py``, as KernelBench does, or ``19_NAME.py`` in a folder
    of its level, or anywhere if there is one level only. Other files are left alone. InputError if
    no file is a candidate, or one is for a problem that there is not.
    """
    if not folder.is_dir():
        there = "is a file" if folder.exists() else "does not exist"
        raise InputError(f"{folder} {there}: give a folder of candidates")
    problems = _problems(root)
    only = {problem.level for problem in problems.values()}
    level = next(iter(only)) if len(only) == 1 else None
    found: dict[ProblemFile, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        key = _problem_of(path, level)
        if key is None:
            continue
        if key not in problems:
            raise InputError(f"{path} is for problem {key[1]} of level {key[0]}: {root} has none")
        found.setdefault(problems[key], []).append(path)
    if not found:
        raise InputError(f"{folder} holds no candidate: their files are called {_NAMING}")
    return dict(sorted(found.items()))


def _problem_of(path: Path, level: int | None) -> tuple[int, int] | None:
    """Level and number of the problem that a file is for; None if it does not say."""
    if match := _NAME.fullmatch(path.stem):
        return int(match[1]), int(match[2])
    number = _NUMBER.fullmatch(path.stem)
    if number is None:
        return None
    if own := _LEVEL.fullmatch(path.parent.name):
        return int(own[1]), int(number[1])
    return None if level is None else (level, int(number[1]))


def _problems(root: Path) -> Mapping[tuple[int, int], ProblemFile]:
    if not root.is_dir():
        there = "is a file" if root.exists() else "does not exist"
        raise InputError(f"{root} {there}: with --suite, give a KernelBench checkout or a level")
    if match := _LEVEL.fullmatch(root.name):
        levels, root = [int(match[1])], root.parent
    else:
        levels = sorted(levels_of(root))
    if not levels:
        problems_of(root, 1)  # says what is wrong with it
    return {
        (level, number): problem
        for level in levels
        for number, problem in problems_of(root, level).items()
    }
