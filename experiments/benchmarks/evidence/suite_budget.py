"""What a suite gains by giving its budget to some problems, on recorded replies.

python -m experiments.benchmarks.evidence.suite_budget STUDY... [--arm puct] [--seeds N]

STUDY is the folder of a study on expansions. Every seed of it has a run of each problem, of which
so many trials are taken as a rule gives the problem: four each, then one at a time. Printed are the
geometric means over all problems for the same number of trials in all, and the ratio of each rule
to equal shares, with a 95 % interval by a bootstrap of problems.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal, get_args

from experiments.benchmarks.expansions.file import find_expansions, read_expansions
from experiments.benchmarks.studies.folder import RESULTS_FILE, STUDY_FILE
from mcts.errors import InputError

Rule = Literal["equal", "gaining", "headroom", "gaining_then_headroom"]
BASE = 4
EACH = (5, 6, 8)
"""Trials a problem on average for which figures are printed."""
WINDOW = 3
"""Trials over which a problem's gain is looked at."""
_RESAMPLES = 400
_RESAMPLED_SEEDS = 20

Curve = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a problem stands: its best speedup after each of its trials so far, 1 before.

    `floor` is how many times as fast as the baseline a call could be by the roofline; None where
    that is not known.
    """

    best: tuple[float, ...]
    floor: float | None = None

    @property
    def gain(self) -> float:
        """How much a trial gained lately: the mean logarithm over the last `WINDOW` trials."""
        last = self.best[-1]
        before = self.best[-1 - WINDOW] if len(self.best) > WINDOW else 1.0
        return math.log(last / before) / WINDOW

    @property
    def headroom(self) -> float:
        """Logarithm of what is left up to the floor; 0 where it was passed or is not known."""
        if self.floor is None:
            return 0.0
        return max(0.0, math.log(self.floor / self.best[-1]))


def next_problem(standings: Sequence[Standing], rule: Rule, *, most: int) -> int | None:
    """The index of the problem that gets the next trial; None if each has had `most`.

    equal: the one with the fewest trials. gaining: the one that gained most per trial lately.
    headroom: the one furthest from its floor. gaining_then_headroom: the one that gained most, and
    of those alike the one furthest from its floor. Ties: the fewest trials, then the first.
    """
    open_ones = [index for index, one in enumerate(standings) if len(one.best) < most]
    if not open_ones:
        return None

    def order(index: int) -> tuple[float, ...]:
        one = standings[index]
        fewest = -float(len(one.best))
        scores: dict[Rule, tuple[float, ...]] = {
            "equal": (),
            "gaining": (one.gain,),
            "headroom": (one.headroom,),
            "gaining_then_headroom": (one.gain, one.headroom),
        }
        return (*scores[rule], fewest, -float(index))

    return max(open_ones, key=order)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; the exit code of an error."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("studies", nargs="+", type=Path)
    parser.add_argument("--arm", default="puct")
    parser.add_argument("--seeds", type=int, default=200)
    options = parser.parse_args(arguments)
    try:
        curves, floors = _curves(options.studies, options.arm), _floors(options.studies)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    _print(curves, floors, seeds=options.seeds)
    return 0


def _curves(studies: Sequence[Path], arm: str) -> dict[str, list[Curve]]:
    """The best speedup after each trial, for each problem and seed."""
    found: dict[str, dict[int, Curve]] = defaultdict(dict)
    for study in studies:
        path = study / RESULTS_FILE
        if not path.is_file():
            raise InputError(f"{study} is no study that has run: it has no {RESULTS_FILE}")
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["arm"] == arm:
                found[row["task"]][row["seed"]] = _curve(row["best"], row["trials"])
    if not found:
        raise InputError(f"no run of an arm {arm} is in {', '.join(map(str, studies))}")
    most = max(len(run) for runs in found.values() for run in runs.values())
    return {
        task: [runs[seed] + runs[seed][-1:] * (most - len(runs[seed])) for seed in sorted(runs)]
        for task, runs in found.items()
    }


def _curve(best: Sequence[tuple[int, float]], trials: int) -> Curve:
    steps = dict(best)
    found, last = [], 1.0
    for trial in range(1, trials + 1):
        last = max(last, steps.get(trial, last))
        found.append(last)
    return tuple(found)


def _floors(studies: Sequence[Path]) -> dict[str, float]:
    """How many times as fast as its baseline each problem could be by the roofline."""
    found = {}
    for study in studies:
        plan = json.loads((study / STUDY_FILE).read_text(encoding="utf-8"))
        for tree in read_expansions(find_expansions(plan["study"]["expansions"], study)):
            root = tree.by_id[tree.root]
            timing = root.evaluation.timing if root.evaluation is not None else None
            least = root.roofline.speed_of_light_us if root.roofline is not None else None
            if timing is not None and least:
                found[tree.task] = timing.median_us / least
    return found


def shared(
    runs: Sequence[Curve], floors: Sequence[float | None], rule: Rule, *, total: int
) -> list[float]:
    """The best speedup of each problem for so many trials in all."""
    most = min(map(len, runs))
    given = [BASE] * len(runs)
    while sum(given) < total:
        standings = [
            Standing(run[:count], floor)
            for run, count, floor in zip(runs, given, floors, strict=True)
        ]
        index = next_problem(standings, rule, most=most)
        if index is None:
            break
        given[index] += 1
    return [run[count - 1] for run, count in zip(runs, given, strict=True)]


def _mean_log(
    curves: Mapping[str, list[Curve]],
    floors: Mapping[str, float],
    tasks: Sequence[str],
    rule: Rule,
    *,
    each: int,
    seeds: Sequence[int],
) -> float:
    """The mean logarithm of the speedup over problems and seeds."""
    known = [floors.get(task) for task in tasks]
    means = []
    for seed in seeds:
        runs = [curves[task][seed % len(curves[task])] for task in tasks]
        best = shared(runs, known, rule, total=each * len(tasks))
        means.append(fmean(map(math.log, best)))
    return fmean(means)


def _print(curves: dict[str, list[Curve]], floors: dict[str, float], *, seeds: int) -> None:
    tasks, chance = sorted(curves), random.Random(0)
    print(f"{len(tasks)} problems, {seeds} seeds, {BASE} trials each, then by the rule")
    print(f"{'trials':>7}  {'rule':<22} {'geometric mean':>14}  over equal (95 %)")
    for each in EACH:
        equal = _mean_log(curves, floors, tasks, "equal", each=each, seeds=range(seeds))
        for rule in get_args(Rule):
            mean = _mean_log(curves, floors, tasks, rule, each=each, seeds=range(seeds))
            interval = ""
            if rule != "equal":
                low, high = _interval(curves, floors, tasks, rule, each=each, chance=chance)
                interval = f"{math.exp(mean - equal):.3f} ({low:.3f} to {high:.3f})"
            print(f"{each * len(tasks):>7}  {rule:<22} {math.exp(mean):>14.2f}  {interval}")


def _interval(
    curves: Mapping[str, list[Curve]],
    floors: Mapping[str, float],
    tasks: Sequence[str],
    rule: Rule,
    *,
    each: int,
    chance: random.Random,
) -> tuple[float, float]:
    ratios = []
    for _ in range(_RESAMPLES):
        drawn = chance.choices(tasks, k=len(tasks))
        seeds = [chance.randrange(1000) for _ in range(_RESAMPLED_SEEDS)]
        pair = [
            _mean_log(curves, floors, drawn, each_rule, each=each, seeds=seeds)
            for each_rule in (rule, "equal")
        ]
        ratios.append(math.exp(pair[0] - pair[1]))
    ratios.sort()
    return ratios[int(0.025 * _RESAMPLES)], ratios[int(0.975 * _RESAMPLES)]


if __name__ == "__main__":
    sys.exit(main())
