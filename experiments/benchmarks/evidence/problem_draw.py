"""Draw KernelBench problems for the studies with a model: `python -m ...problem_draw ROOT`.

The seed was written down before anything was drawn. Problems that have a kernel in this repository,
that a run folder of an earlier search shows, or that the task gate refuses are left out.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from experiments.benchmarks.suite.finding import ProblemFile, problems_of

SEED = 20261123
KNOWN = {
    1: {12, 23, 26, 36, 40, 41, 47, 66, 74, 81, 82, 88, 89, 95, 97},
    2: {8, 13, 40, 59, 80, 82, 83, 99},
    3: set[int](),
}
"""By level the problems with a kernel here, in a run folder, or that are refused (2/80, 2/83)."""
SETS = {
    "headline": {1: 4, 2: 4, 3: 2},
    "search": {1: 5, 2: 5, 3: 2},
    "sharper": {1: 3, 2: 3, 3: 2},
    "modules": {1: 0, 2: 0, 3: 6},
}
"""How many of each level; the sets are drawn in this order and share no problem."""


def draw(root: Path) -> dict[str, list[ProblemFile]]:
    """The problems of each set, by level and number."""
    found: dict[str, list[ProblemFile]] = {name: [] for name in SETS}
    for level, known in KNOWN.items():
        order = [each for each in problems_of(root, level).values() if each.number not in known]
        random.Random(f"{SEED}/{level}").shuffle(order)
        begin = 0
        for name, counts in SETS.items():
            found[name] += sorted(
                order[begin : begin + counts[level]], key=lambda each: each.number
            )
            begin += counts[level]
    return found


def main() -> None:
    """Print the sets."""
    for name, problems in draw(Path(sys.argv[1])).items():
        print(f"{name}:")
        for problem in problems:
            print(f"  {problem.level}/{problem.path.stem}")


if __name__ == "__main__":
    main()
