"""Ways of searching compared by their runs: standings, wins and losses."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from experiments.benchmarks.comparing.nouns import Duel, Entry, RunComparison, Standing
from experiments.benchmarks.comparing.runs import ComparedRun
from experiments.benchmarks.studies.statistics import within_tasks
from mcts.errors import InputError
from mcts.journal.record import RUNNING
from mcts.search.seeding import seed_from


def compare_runs(runs: Sequence[ComparedRun], *, reference: str | None) -> RunComparison:
    """Compare runs, with those that search alike as one arm, on each of their tasks.

    The reference is the first run's arm, unless `reference` names another. InputError if no arm has
    that name.
    """
    arms, tasks = arms_of(runs), _tasks_of(runs)
    entries = tuple(
        Entry(arm=arm, task=task, run=run) for arm, task, run in zip(arms, tasks, runs, strict=True)
    )
    names = tuple(dict.fromkeys(arms))
    chosen = reference or names[0]
    if chosen not in names:
        raise InputError(f"no arm is called {chosen!r}; there are: {', '.join(names)}")
    comparison = RunComparison(
        reference=chosen,
        arms=names,
        tasks=tuple(dict.fromkeys(tasks)),
        entries=entries,
        standings=(),
        duels=(),
        warnings=(),
    )
    rivals = [arm for arm in names if arm != chosen]
    duels = [duel for arm in rivals if (duel := _duel(comparison, arm)) is not None]
    return comparison.model_copy(
        update={
            "standings": tuple(_standings(comparison)),
            "duels": tuple(duels),
            "warnings": tuple(_warnings(comparison, duels)),
        }
    )


def arms_of(runs: Sequence[ComparedRun]) -> list[str]:
    """The name of each run's arm: its label, or else those of its traits in which runs differ."""
    traits = [run.traits for run in runs if not run.label]
    differing = [
        name for name in (traits[0] if traits else ()) if len({each[name] for each in traits}) > 1
    ]
    chosen = differing or ["search", "proposer"]
    return [run.label or _called(run.traits, chosen) for run in runs]


def _called(traits: Mapping[str, str], chosen: Sequence[str]) -> str:
    return ", ".join(traits[name] for name in chosen if traits[name]) or "default settings"


def _tasks_of(runs: Sequence[ComparedRun]) -> list[str]:
    """A task name for each run; two runs share it exactly if task, hardware and baseline agree."""
    arenas: dict[str, list[tuple[str, str, str]]] = {}
    for run in runs:
        known = arenas.setdefault(run.task, [])
        if run.arena not in known:
            known.append(run.arena)
    return [_task_name(run, arenas[run.task]) for run in runs]


def _task_name(run: ComparedRun, arenas: list[tuple[str, str, str]]) -> str:
    """The task with what tells the run's arena from the others of that name."""
    if len(arenas) == 1:
        return run.task
    parts = [run.task]
    if len({hardware for _, hardware, _ in arenas}) > 1:
        parts.append(f"on {run.hardware}")
    if len({over for _, _, over in arenas}) > 1:
        parts.append(f"over {run.over}")
    versions = list(dict.fromkeys(task_id for task_id, _, _ in arenas))
    if len(versions) > 1:
        parts.append(f"(version {versions.index(run.task_id) + 1})")
    return " ".join(parts)


def _standings(comparison: RunComparison) -> Iterator[Standing]:
    for task in comparison.tasks:
        for arm in comparison.arms:
            runs = comparison.of(arm, task)
            if not runs:
                continue
            single = runs[0] if len(runs) == 1 else None
            speedups = [run.speedup for run in runs]
            yield Standing(
                task=task,
                arm=arm,
                runs=len(runs),
                speedup=math.exp(float(np.mean(np.log(speedups)))),
                low=single.speedup_low if single else min(speedups),
                high=single.speedup_high if single else max(speedups),
                evaluations=float(np.mean([run.unique for run in runs])),
                failed=float(np.mean([run.failed for run in runs])),
                seconds=sum(run.seconds for run in runs),
                cost_usd=_sum([run.cost_usd for run in runs]),
                gpu_s=_sum([run.gpu_s for run in runs]),
            )


def _sum(amounts: Sequence[float | None]) -> float | None:
    """The sum; None if an amount is not known."""
    known = [amount for amount in amounts if amount is not None]
    return math.fsum(known) if len(known) == len(amounts) else None


def _duel(comparison: RunComparison, arm: str) -> Duel | None:
    """The reference against `arm`; None if they have no task in common."""
    ours = {task: comparison.of(comparison.reference, task) for task in comparison.tasks}
    theirs = {task: comparison.of(arm, task) for task in comparison.tasks}
    common = [task for task in comparison.tasks if ours[task] and theirs[task]]
    if not common:
        return None
    paired = {task: _pairs(ours[task], theirs[task]) for task in common}
    outcomes = Counter(_outcome(*pair) for pairs, _ in paired.values() for pair in pairs)
    logs = [
        np.array([math.log(one.speedup / other.speedup) for one, other in pairs])
        for pairs, _ in paired.values()
    ]
    by_seed = all(same for _, same in paired.values())
    low, high = _interval([pair for pairs, _ in paired.values() for pair in pairs], logs, by_seed)
    return Duel(
        arm=arm,
        tasks=tuple(common),
        ratio=math.exp(float(np.mean([values.mean() for values in logs]))),
        low=low,
        high=high,
        wins=outcomes["win"],
        ties=outcomes["tie"],
        losses=outcomes["loss"],
        by_seed=by_seed,
    )


_Pair = tuple[ComparedRun, ComparedRun]


def _pairs(ours: Sequence[ComparedRun], theirs: Sequence[ComparedRun]) -> tuple[list[_Pair], bool]:
    """Pairs of runs with the same seed, and True; if no seed is shared, all pairs, and False."""
    by_seed = {run.seed: run for run in theirs}
    same = [(run, by_seed[run.seed]) for run in ours if run.seed in by_seed]
    if same:
        return same, True
    return [(run, other) for run in ours for other in theirs], False


def _outcome(ours: ComparedRun, theirs: ComparedRun) -> str:
    if ours.speedup_low > theirs.speedup_high:
        return "win"
    return "loss" if ours.speedup_high < theirs.speedup_low else "tie"


def _interval(
    pairs: Sequence[_Pair], logs: Sequence[np.ndarray], by_seed: bool
) -> tuple[float | None, float | None]:
    """The 95 % interval of the ratio; None for both ends if it cannot be told."""
    if len(pairs) == 1:
        ours, theirs = pairs[0]
        return ours.speedup_low / theirs.speedup_high, ours.speedup_high / theirs.speedup_low
    if not by_seed or min(len(values) for values in logs) < 2:
        return None, None
    spread = within_tasks(logs, seed=seed_from("compare runs", len(pairs)))
    return math.exp(spread.low), math.exp(spread.high)


def _warnings(comparison: RunComparison, duels: Sequence[Duel]) -> Iterator[str]:
    """What limits the comparison, a sentence each."""
    names: dict[str, set[str]] = {}
    for entry in comparison.entries:
        names.setdefault(entry.run.task, set()).add(entry.task)
    for name, shown in names.items():
        if len(shown) > 1:
            yield (
                f"the runs of {name} differ in the task itself, the hardware or the baseline: "
                f"shown apart as {', '.join(sorted(shown))}"
            )
    for arm in comparison.arms:
        if arm != comparison.reference and arm not in {duel.arm for duel in duels}:
            pair = f"{comparison.reference} and {arm}"
            yield f"{pair} have no task in common: they cannot be compared"
    running = [entry.run.path for entry in comparison.entries if entry.run.stopped == RUNNING]
    if running:
        yield f"still going, or crashed: {', '.join(running)}"
    unconfirmed = [entry.run.path for entry in comparison.entries if not entry.run.confirmed]
    if unconfirmed:
        yield f"not confirmed by a second measurement: {', '.join(unconfirmed)}"
    lengths = {entry.run.evaluations for entry in comparison.entries}
    if len(lengths) > 1:
        yield (
            f"the runs had {min(lengths)} to {max(lengths)} trials: their results are not of one "
            "budget"
        )
