"""Arms against the reference: pairs over tasks and seeds, tests, intervals, wins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Literal

import numpy as np

from experiments.benchmarks.studies.cell import CellResult
from experiments.benchmarks.studies.contests import (
    Floats,
    PairedContest,
    blind_contests,
    chosen_reference,
    corrected,
    few_tasks_warning,
    paired,
)
from experiments.benchmarks.studies.folder import MIXED, Plan
from experiments.benchmarks.studies.kinds import KINDS
from experiments.benchmarks.studies.recorded_task import TaskFacts
from mcts.domain import Noun
from mcts.errors import InputError
from mcts.search.seeding import seed_from

Metric = Literal["speedup", "evaluations"]
BUDGET = "budget"
TARGET = "target"
LENGTH = "length"


class Contest(PairedContest):
    """The reference against one arm by one measure; a pair shares its task and its seed.

    measure: `20` (speedup after 20 unique evaluations), `budget` (after each task's own budget),
    `target` (unique evaluations to the target) or `length` (evaluations that a run had in all).
    ratio: the reference's speedup over the arm's, or the arm's evaluations over its own.
    smallest_p_tasks: the least that p_tasks could have been. effect: matched-pairs rank-biserial.
    """

    p_tasks: float
    smallest_p_tasks: float
    effect: float

    @property
    def metric(self) -> Metric:
        return "evaluations" if self.measure in (TARGET, LENGTH) else "speedup"


class Standing(Noun):
    """One arm on one task. speedups: geometric means by measure, over seeds.

    reached: share of runs that came to the target, None if there is none; median_to_target: unique
    evaluations, None if less than half of the runs came there. trials, missing: on recorded
    expansions, how many trials a run had, and how often it wanted a child of a parent that had none
    left; both are means over seeds.
    """

    arm: str
    task: str
    runs: int
    speedups: dict[str, float]
    reached: float | None
    median_to_target: float | None
    failed: float
    trials: float | None = None
    missing: float | None = None


class Comparison(Noun):
    """All that `compare` finds. `counted` is what a run's length is in; `warnings` say what the
    study cannot say.
    """

    study: str
    counted: str = "evaluations"
    question: str
    reference: str
    alpha: float
    contests: tuple[Contest, ...]
    standings: tuple[Standing, ...]
    tasks: tuple[TaskFacts, ...]
    warnings: tuple[str, ...]


Runs = Mapping[tuple[str, str], Mapping[int, CellResult]]
"""Lines by arm and task, then by seed."""


def runs_of(plan: Plan, lines: Iterable[CellResult]) -> Runs:
    """The lines that belong to the study as it is now. InputError if there is none."""
    wanted = set(plan.keys)
    found: dict[tuple[str, str], dict[int, CellResult]] = {}
    by_key = {line.key: line for line in lines if line.key in wanted}
    if not by_key:
        raise InputError("the study holds no result yet: run it first")
    cells = iter(plan.keys)
    for seed in plan.study.each_seed:
        for facts in plan.tasks:
            for arm in plan.study.arms:
                if (line := by_key.get(next(cells))) is not None:
                    found.setdefault((arm, facts.name), {})[seed] = line
    return found


def measures_of(plan: Plan) -> tuple[str, ...]:
    """Speedup at the fixed numbers and at the budget, then evaluations to the target if the tasks
    have one, and in all if an arm ends its runs early.
    """
    budgets = {facts.budget for facts in plan.tasks}
    fixed = [str(at) for at in plan.study.at if budgets != {at}]
    has_target = all(facts.target_us is not None for facts in plan.tasks)
    ends_early = any(arm.stop_within is not None for arm in plan.study.arms.values())
    return (
        *fixed,
        BUDGET,
        *((TARGET,) if has_target else ()),
        *((LENGTH,) if ends_early else ()),
    )


def compare(plan: Plan, lines: Iterable[CellResult], *, reference: str | None = None) -> Comparison:
    """Compare every arm with the reference. InputError if no runs can be paired."""
    study = plan.study
    chosen = chosen_reference(study.arms, study.reference, reference)
    study = study.model_copy(update={"reference": chosen})
    plan = plan.model_copy(update={"study": study})
    runs = runs_of(plan, lines)
    contests = [
        _contest(plan, runs, arm, measure) for measure in measures_of(plan) for arm in study.others
    ]
    return Comparison(
        study=study.name,
        counted=KINDS[study.kind].counted,
        question=study.question,
        reference=study.reference,
        alpha=study.alpha,
        contests=corrected(contests),
        standings=tuple(_standings(plan, runs)),
        tasks=plan.tasks,
        warnings=tuple(_warnings(plan, runs, contests)),
    )


def value_of(line: CellResult, facts: TaskFacts, measure: str) -> float:
    """The logarithm of what is measured; more is better.

    A run that never reached the target counts as if it had right after the last evaluation that it
    was given. That favours it: a difference to a run that did reach it has the right sign and is at
    least as large as what is counted. Two runs that both failed to are a tie. A run that ended
    early of itself counts alike, though it did not use what it was given.
    """
    if measure == TARGET:
        return -math.log(line.to_target if line.to_target is not None else facts.length + 1)
    if measure == LENGTH:
        return -math.log(max(1, line.unique))
    return math.log(line.speedup_at(facts.budget if measure == BUDGET else int(measure)))


def differences(plan: Plan, runs: Runs, arm: str, measure: str) -> dict[str, Floats]:
    """By task, reference less arm over the seeds that both have."""
    found: dict[str, Floats] = {}
    for facts in plan.tasks:
        ours = runs.get((plan.study.reference, facts.name), {})
        theirs = runs.get((arm, facts.name), {})
        pairs = [
            value_of(ours[seed], facts, measure) - value_of(theirs[seed], facts, measure)
            for seed in sorted(ours.keys() & theirs.keys())
        ]
        if pairs:
            found[facts.name] = np.array(pairs)
    return found


def _noise(plan: Plan, measure: str) -> float:
    """The logarithm of a ratio up to which values are ties."""
    return 0.0 if measure in (TARGET, LENGTH) else math.log1p(plan.study.noise)


def _contest(plan: Plan, runs: Runs, arm: str, measure: str) -> Contest:
    by_task = list(differences(plan, runs, arm, measure).values())
    if not by_task:
        raise InputError(f"no run of {arm} can be paired with one of {plan.study.reference}")
    figures = paired(
        by_task,
        noise=_noise(plan, measure),
        alpha=plan.study.alpha,
        family=len(plan.study.others) * len(measures_of(plan)),
        seed=seed_from("compare", plan.study.name, arm, measure),
    )
    return Contest(arm=arm, measure=measure, **figures.by_name())


def _standings(plan: Plan, runs: Runs) -> Iterable[Standing]:
    for facts in plan.tasks:
        for arm in plan.study.arms:
            lines = list(runs.get((arm, facts.name), {}).values())
            if not lines:
                continue
            yield Standing(
                arm=arm,
                task=facts.name,
                runs=len(lines),
                speedups={
                    measure: math.exp(float(np.mean([value_of(x, facts, measure) for x in lines])))
                    for measure in measures_of(plan)
                    if measure not in (TARGET, LENGTH)
                },
                **(_arrivals(lines) if facts.target_us is not None else _NO_TARGET),
                failed=sum(line.failed for line in lines) / len(lines),
                **_draws(lines),
            )


_NO_TARGET: dict[str, float | None] = {"reached": None, "median_to_target": None}


def _arrivals(lines: list[CellResult]) -> dict[str, float | None]:
    """How many of the runs came to the target, and after how many evaluations."""
    arrived = sorted(line.to_target or math.inf for line in lines)
    median = float(np.median(arrived)) if arrived[len(arrived) // 2] < math.inf else None
    reached = sum(time < math.inf for time in arrived) / len(arrived)
    return {"reached": reached, "median_to_target": median}


def _draws(lines: list[CellResult]) -> dict[str, float]:
    """How long runs on recorded expansions were, and what they lacked."""
    missing = [line.missing for line in lines if line.missing is not None]
    if not missing:
        return {}
    trials = sum(line.trials for line in lines) / len(lines)
    return {"trials": trials, "missing": sum(missing) / len(missing)}


def _warnings(plan: Plan, runs: Runs, contests: list[Contest]) -> Iterable[str]:
    study = plan.study
    there = sum(len(lines) for lines in runs.values())
    wanted = len(study.arms) * len(plan.tasks) * study.seeds
    if plan.code == MIXED:
        yield "the code changed between runs: a fresh folder has all of them by one"
    if there < wanted:
        yield f"{wanted - there} of {wanted} runs are missing: what is shown may change"
    for at in study.at:
        if ended := [facts for facts in plan.tasks if facts.length < at]:
            ends = ", ".join(f"{facts.name} after {facts.length}" for facts in ended)
            yield f"speedup at {at}: runs end before ({ends}), and count with what they ended with"
    for one, other in combinations(study.arms, 2):
        if digests := _same_digests(plan, runs, one, other):
            yield (
                f"{one} and {other} did the same in all {digests} runs: what they differ in "
                "decides nothing here"
            )
    if blind := blind_contests(contests, lambda contest: _matters(plan, contest)):
        yield (
            f"underpowered: {blind.count} of {len(contests)} comparisons could miss a ratio that "
            f"matters ({study.matters:g}x in speedup, {study.matters_evaluations:g}x in "
            f"evaluations); {blind.worst}: more seeds help"
        )
    least = contests[0].smallest_p_tasks
    if least > study.alpha:
        yield (
            f"{len(plan.tasks)} task{'s' * (len(plan.tasks) > 1)} cannot speak for others: over "
            f"tasks no p-value below {least:.2g} can come out; p is about these tasks"
        )
    here = "low_here and high_here, the thick bars,"
    if words := few_tasks_warning(len(plan.tasks), "tasks", here):
        yield words


def _same_digests(plan: Plan, runs: Runs, one: str, other: str) -> int:
    """In how many runs two arms made the same trees, if they did in all that both have."""
    pairs = [
        (line.digest, lines_of_other[seed].digest)
        for facts in plan.tasks
        if (lines_of_other := runs.get((other, facts.name), {}))
        for seed, line in runs.get((one, facts.name), {}).items()
        if seed in lines_of_other
    ]
    return len(pairs) if all(first == second for first, second in pairs) else 0


def _matters(plan: Plan, contest: Contest) -> float:
    study = plan.study
    return study.matters_evaluations if contest.metric == "evaluations" else study.matters
