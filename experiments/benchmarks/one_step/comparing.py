"""Arms against the reference: pairs over parents and replies, tests, intervals, failures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from scipy.stats import binomtest

from experiments.benchmarks.one_step.folder import OneStepPlan, steps_of
from experiments.benchmarks.one_step.nouns import (
    ArmFigures,
    Measure,
    StepComparison,
    StepContest,
)
from experiments.benchmarks.one_step.step import StepResult
from experiments.benchmarks.studies.contests import (
    Floats,
    blind_contests,
    chosen_reference,
    corrected,
    few_tasks_warning,
    geometric_mean,
    paired,
    win_counts,
)
from experiments.benchmarks.studies.statistics import hierarchical, within_tasks
from mcts.errors import InputError
from mcts.search.seeding import seed_from

MEASURES: tuple[Measure, ...] = ("kept gain", "gain", "failures")
Pair = tuple[StepResult, StepResult]


Lines = Mapping[tuple[str, str, int], StepResult]
"""By arm, parent and reply."""


def compare_steps(
    plan: OneStepPlan, lines: Iterable[StepResult], *, reference: str | None = None
) -> StepComparison:
    """Compare every arm with the reference. InputError if no steps can be paired."""
    study = plan.study
    chosen = chosen_reference(study.arms, study.reference, reference)
    others = [arm for arm in study.arms if arm != chosen]
    found = _lines_of(plan, lines)
    contests = [
        _contest(plan, found, chosen, arm, measure) for measure in MEASURES for arm in others
    ]
    contests = [contest for contest in contests if contest.pairs]
    if not contests:
        raise InputError("the study has no two steps to compare yet: run it first")
    return StepComparison(
        study=study.name,
        question=study.question,
        reference=chosen,
        alpha=study.alpha,
        parents=len(plan.parents),
        problems=len({parent.task for parent in plan.parents}),
        arms=tuple(
            _figures(plan, found, arm) for arm in study.arms if any(arm == key[0] for key in found)
        ),
        contests=corrected(contests),
        warnings=tuple(_warnings(plan, found, contests)),
    )


def _lines_of(plan: OneStepPlan, lines: Iterable[StepResult]) -> Lines:
    """The lines that belong to the study as it is now, each under its step's name."""
    by_key = {line.key: line for line in lines}
    return {
        (step.arm, step.parent.name, step.reply): by_key[step.key]
        for step in steps_of(plan)
        if step.key in by_key
    }


def _pairs(plan: OneStepPlan, lines: Lines, reference: str, arm: str) -> dict[str, list[Pair]]:
    """By problem, the steps of the two from the same parent."""
    found: dict[str, list[Pair]] = {}
    for parent in plan.parents:
        for reply in range(plan.study.replies):
            ours = lines.get((reference, parent.name, reply))
            theirs = lines.get((arm, parent.name, reply))
            if ours is not None and theirs is not None:
                found.setdefault(parent.task, []).append((ours, theirs))
    return found


def _contest(
    plan: OneStepPlan, lines: Lines, reference: str, arm: str, measure: Measure
) -> StepContest:
    by_problem = _pairs(plan, lines, reference, arm)
    if measure == "gain":
        by_problem = {
            problem: right
            for problem, pairs in by_problem.items()
            if (right := [pair for pair in pairs if pair[0].gain and pair[1].gain])
        }
    differences = [
        np.array([_difference(pair, measure) for pair in pairs]) for pairs in by_problem.values()
    ]
    if not differences:
        return _nothing(arm, measure)
    seed = seed_from("one step", plan.study.name, arm, measure)
    if measure == "failures":
        return _failures(arm, differences, seed)
    figures = paired(
        differences,
        noise=math.log1p(plan.study.noise),
        alpha=plan.study.alpha,
        family=len(MEASURES) * (len(plan.study.arms) - 1),
        seed=seed,
    )
    return StepContest(
        arm=arm, measure=measure, **figures.by_name(without=("smallest_p_tasks", "effect"))
    )


def _difference(pair: Pair, measure: Measure) -> float:
    ours, theirs = pair
    if measure == "failures":
        return float(ours.failed) - float(theirs.failed)
    if measure == "kept gain":
        return math.log(ours.kept_gain) - math.log(theirs.kept_gain)
    assert ours.gain is not None and theirs.gain is not None, "both are right"
    return math.log(ours.gain) - math.log(theirs.gain)


def _failures(arm: str, by_problem: Sequence[Floats], seed: int) -> StepContest:
    """Failures as shares; a win is a pair in which only the arm failed."""
    wide, here = hierarchical(by_problem, seed=seed), within_tasks(by_problem, seed=seed)
    wins = win_counts(-np.concatenate(by_problem))
    one_alone = wins["wins"] + wins["losses"]
    return StepContest(
        arm=arm,
        measure="failures",
        ratio=wide.mean,
        low=wide.low,
        high=wide.high,
        low_here=here.low,
        high_here=here.high,
        p=float(binomtest(wins["losses"], one_alone).pvalue) if one_alone else 1.0,
        p_tasks=None,
        **wins,
    )


def _nothing(arm: str, measure: Measure) -> StepContest:
    return StepContest(
        arm=arm, measure=measure, ratio=1.0, low=1.0, high=1.0, low_here=1.0, high_here=1.0,
        p=1.0, p_tasks=None, wins=0, ties=0, losses=0, pairs=0,
    )  # fmt: skip


def _figures(plan: OneStepPlan, lines: Lines, arm: str) -> ArmFigures:
    found = [line for (name, _, _), line in lines.items() if name == arm]
    right = [line for line in found if line.gain is not None]
    seed = seed_from("one step", plan.study.name, arm)
    return ArmFigures(
        arm=arm,
        steps=len(found),
        right=len(right),
        failed=sum(line.failed and line.status != "rejected" for line in found),
        rejected=sum(line.status == "rejected" for line in found),
        same=sum(line.status == "same" for line in found),
        improved=_share(line.kept_gain > 1 + plan.study.noise for line in found),
        kept_gain=geometric_mean([(line.task, line.kept_gain) for line in found], seed)
        or (1.0, 1.0, 1.0),
        gain=geometric_mean([(line.task, line.gain) for line in right if line.gain], seed),
        best=max((line.gain for line in right if line.gain), default=1.0),
        prompt_tokens=_sum(line.prompt_tokens for line in found),
        completion_tokens=_sum(line.completion_tokens for line in found),
        cost_usd=_sum(line.cost_usd for line in found),
    )


def _share(true: Iterable[bool]) -> float:
    values = list(true)
    return sum(values) / len(values) if values else 0.0


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _warnings(plan: OneStepPlan, lines: Lines, contests: Sequence[StepContest]) -> Iterator[str]:
    missing = len(plan.keys) - len(lines)
    if missing:
        yield f"{missing} of {len(plan.keys)} steps are missing: what is shown may change"
    if idle := [arm for arm in plan.study.arms if not any(arm == key[0] for key in lines)]:
        yield f"no step of {', '.join(idle)} was taken"
    if plan.study.mixed_gpus:
        yield (
            "mixed_gpus: children may have been timed on another kind of GPU than their parents, "
            "so that gains hold between arms alone"
        )
    gains = [contest for contest in contests if contest.measure != "failures"]
    if blind := blind_contests(gains, lambda _: plan.study.matters):
        yield (
            f"underpowered: {blind.count} comparisons of gains could miss a ratio of "
            f"{plan.study.matters:g}x; {blind.worst}: more parents or replies help"
        )
    problems = len({parent.task for parent in plan.parents})
    if words := few_tasks_warning(problems, "problems"):
        yield words
