"""Arms of a study against the reference: pairs over tasks and seeds, tests, intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments.benchmarks.model_studies.cell import ModelCellResult
from experiments.benchmarks.model_studies.config import ModelStudy
from experiments.benchmarks.model_studies.folder import ModelPlan, cells_of
from experiments.benchmarks.model_studies.nouns import (
    ArmFigures,
    ModelComparison,
    ModelContest,
    Outcome,
)
from experiments.benchmarks.studies.contests import (
    Floats,
    blind_contests,
    chosen_reference,
    corrected,
    few_tasks_warning,
    geometric_mean,
    paired,
)
from experiments.benchmarks.suite.metrics import THRESHOLDS, fast
from mcts.errors import InputError
from mcts.search.seeding import seed_from

FINAL, COMPILED, NEAR = "final", "over torch.compile", "near"


Lines = Mapping[tuple[str, str, int], ModelCellResult]
"""By arm, task and seed."""


def compare_searches(
    plan: ModelPlan, lines: Iterable[ModelCellResult], *, reference: str | None = None
) -> ModelComparison:
    """Compare every arm with the reference. InputError if there is no run yet."""
    study = plan.study
    chosen = chosen_reference(study.arms, study.reference, reference)
    found = _lines_of(plan, lines)
    if not found:
        raise InputError("the study holds no result yet: run it first")
    contests = list(_contests(plan, found, chosen))
    return ModelComparison(
        study=study.name,
        question=study.question,
        reference=chosen,
        alpha=study.alpha,
        trials=study.trials,
        near=study.near,
        arms=tuple(_figures(plan, found, arm) for arm in study.arms),
        by_level=_by_level(plan, found),
        contests=corrected(contests),
        outcomes=tuple(_outcomes(plan, found)),
        warnings=tuple(_warnings(plan, found, contests)),
    )


def measures_of(study: ModelStudy) -> list[str]:
    """What runs are compared by."""
    measures = [FINAL, *map(str, study.at)]
    if study.over_compile:
        measures.append(COMPILED)
    if study.near is not None:
        measures.append(NEAR)
    return measures


def _lines_of(plan: ModelPlan, lines: Iterable[ModelCellResult]) -> Lines:
    """The lines that belong to the study as it is now."""
    by_key = {line.key: line for line in lines}
    return {
        (cell.arm, cell.task.name, cell.seed): by_key[cell.key]
        for cell in cells_of(plan)
        if cell.key in by_key
    }


def _contests(plan: ModelPlan, lines: Lines, reference: str) -> Iterator[ModelContest]:
    measures = measures_of(plan.study)
    others = [arm for arm in plan.study.arms if arm != reference]
    for measure in measures:
        for arm in others:
            by_task = list(_differences(plan, lines, reference, arm, measure))
            if by_task:
                family = len(measures) * len(others)
                yield _contest(plan, arm, measure, by_task, family=family)


def _differences(
    plan: ModelPlan,
    lines: Lines,
    reference: str,
    arm: str,
    measure: str,
) -> Iterator[Floats]:
    """By task, the logarithm of the reference's value over the arm's, for seeds that both have."""
    most = min(plan.study.trials_of(reference), plan.study.trials_of(arm))
    if measure.isdigit() and int(measure) > most:
        return
    for task in plan.tasks:
        pairs = []
        for seed in plan.study.each_seed:
            ours = lines.get((reference, task.name, seed))
            theirs = lines.get((arm, task.name, seed))
            if ours is None or theirs is None:
                continue
            mine, other = _value(ours, measure, most), _value(theirs, measure, most)
            if mine is not None and other is not None:
                pairs.append(math.log(mine) - math.log(other))
        if pairs:
            yield np.array(pairs)


def _value(line: ModelCellResult, measure: str, most: int) -> float | None:
    """What is compared, of which more is better; None if it was not measured.

    A run that never came near counts as if it had right after `most` evaluations. That favours it:
    a difference to a run that did come there is at least as large as what is counted.
    """
    if measure == FINAL:
        return line.kept
    if measure == COMPILED:
        return line.compiled.speedup if line.compiled else None
    if measure == NEAR:
        return 1 / min(line.near if line.near is not None else most + 1, most + 1)
    return line.speedup_at(int(measure))


def _contest(
    plan: ModelPlan, arm: str, measure: str, by_task: Sequence[Floats], *, family: int
) -> ModelContest:
    figures = paired(
        by_task,
        noise=0.0 if measure == NEAR else math.log1p(plan.study.noise),
        alpha=plan.study.alpha,
        family=family,
        seed=seed_from("model study", plan.study.name, arm, measure),
    )
    return ModelContest(arm=arm, measure=measure, **figures.by_name(without=("effect",)))


def _figures(plan: ModelPlan, lines: Lines, arm: str) -> ArmFigures:
    found = [line for (name, _, _), line in lines.items() if name == arm]
    compiled = [(line.task, line.compiled.speedup) for line in found if line.compiled]
    finals = [line.final.speedup if line.final else None for line in found]
    seed = seed_from("model study", plan.study.name, arm)
    return ArmFigures(
        arm=arm,
        runs=len(found),
        right=sum(bool(line.best) for line in found),
        final=geometric_mean([(line.task, line.kept) for line in found], seed) or (1.0, 1.0, 1.0),
        compiled=geometric_mean(compiled, seed),
        compiled_runs=len(compiled),
        fast={p: fast(finals, p) for p in THRESHOLDS} if found else {},
        at={
            at: mean[0]
            for at in plan.study.at
            if (mean := geometric_mean([(line.task, line.speedup_at(at)) for line in found], seed))
        },
        near=_near(found) if plan.study.near is not None else None,
        trials=sum(line.trials for line in found),
        failed=sum(line.failed for line in found),
        unusable=sum(line.unusable for line in found),
        unrecorded=sum(line.unrecorded for line in found),
        replies=sum(line.replies for line in found),
        tokens=None
        if any(line.tokens is None for line in found)
        else sum(line.tokens or 0 for line in found),
        cost_usd=None
        if any(line.cost_usd is None for line in found)
        else sum(line.cost_usd or 0.0 for line in found),
    )


def _by_level(plan: ModelPlan, lines: Lines) -> dict[int, tuple[ArmFigures, ...]]:
    """What each arm came to on the tasks of each level of KernelBench, as their folders name it;
    nothing unless all tasks have one and there are several.
    """
    levels: dict[int, set[str]] = {}
    for task in plan.tasks:
        name = Path(task.given).parent.name
        if not (name.startswith("level") and (number := name.removeprefix("level")).isdigit()):
            return {}
        levels.setdefault(int(number), set()).add(task.name)
    if len(levels) < 2:
        return {}
    return {
        level: tuple(
            _figures(plan, {key: line for key, line in lines.items() if key[1] in tasks}, arm)
            for arm in plan.study.arms
        )
        for level, tasks in sorted(levels.items())
    }


def _near(lines: Sequence[ModelCellResult]) -> tuple[int, float | None]:
    """How many runs came near the best, and the median number of evaluations over all runs; None
    unless that is one of a run that came there.
    """
    counts = [math.inf if line.near is None else float(line.near) for line in lines]
    median = statistics.median(counts) if counts else math.inf
    came = sum(line.near is not None for line in lines)
    return came, median if math.isfinite(median) else None


def _outcomes(plan: ModelPlan, lines: Lines) -> Iterator[Outcome]:
    for task in plan.tasks:
        for arm in plan.study.arms:
            found = [
                line
                for seed in plan.study.each_seed
                if (line := lines.get((arm, task.name, seed))) is not None
            ]
            if not found:
                continue
            single = found[0].final if len(found) == 1 else None
            compiled = [line.compiled.speedup for line in found if line.compiled]
            yield Outcome(
                task=task.name,
                arm=arm,
                runs=len(found),
                final=_geometric([line.kept for line in found]),
                interval=(single.low, single.high) if single else None,
                compiled=_geometric(compiled) if compiled else None,
                at={
                    at: _geometric([line.speedup_at(at) for line in found]) for at in plan.study.at
                },
                near=tuple(line.near for line in found) if plan.study.near is not None else (),
                failed=sum(line.failed for line in found),
                stopped=tuple(dict.fromkeys(line.stopped for line in found)),
            )


def _geometric(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _warnings(plan: ModelPlan, lines: Lines, contests: Sequence[ModelContest]) -> Iterator[str]:
    missing = len(plan.keys) - len(lines)
    if missing:
        yield f"{missing} of {len(plan.keys)} runs are missing: what is shown may change"
    if plan.study.mixed_gpus:
        yield "mixed_gpus: runs of a pair may have been measured on different kinds of GPU"
    lengths = {plan.study.trials_of(arm) for arm in plan.study.arms}
    if len(lengths) > 1:
        yield (
            f"arms have between {min(lengths)} and {max(lengths)} trials: final speedups are not "
            "at equal cost"
        )
    if unrecorded := sum(line.unrecorded for line in lines.values()):
        yield f"{unrecorded} proposals were not recorded, and are no trials"
    if blind := blind_contests(contests, lambda _: plan.study.matters):
        yield (
            f"underpowered: {blind.count} of {len(contests)} comparisons could miss a ratio of "
            f"{plan.study.matters:g}x; {blind.worst}: more tasks or seeds help"
        )
    if words := few_tasks_warning(len(plan.tasks), "tasks"):
        yield words
