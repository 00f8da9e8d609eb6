"""Draw the parents of a one-step study: `python -m ...parent_draw RUN... --seed N --count N`.

A variant that several runs measured is drawn from once. Of each task `most` are drawn at most, so
that a task with many variants does not stand for all.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence

from experiments.benchmarks.one_step.parents import FoundParent, find_parents


def draw(found: Sequence[FoundParent], *, seed: int, count: int, most: int) -> list[FoundParent]:
    """`count` of them, or as many as there are with `most` of each task, in their order."""
    order = sorted(found, key=lambda each: each.parent.candidate)
    random.Random(seed).shuffle(order)
    of_task: Counter[str] = Counter()
    drawn: list[FoundParent] = []
    for each in order:
        if len(drawn) < count and of_task[each.parent.task_id] < most:
            of_task[each.parent.task_id] += 1
            drawn.append(each)
    return [each for each in found if each in drawn]


def main() -> None:
    """Print the parents as a study's file has them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--most", type=int, required=True)
    given = parser.parse_args()
    found = find_parents(tuple(given.runs))
    for each in draw(found, seed=given.seed, count=given.count, most=given.most):
        print(f'    "{each.run.path}:{each.parent.node}",')


if __name__ == "__main__":
    main()
