"""Suites compared in pairs, over the problems that all of them have."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.benchmarks.studies.statistics import (
    FEW_TASKS,
    detectable,
    hierarchical,
    holm,
    signed_rank,
)
from experiments.benchmarks.suite.folder import Plan, SuiteFolder
from experiments.benchmarks.suite.metrics import EAGER, TORCH_COMPILE, Summary, summarize
from experiments.benchmarks.suite.outcome import Outcome
from experiments.text.words import counted
from mcts.domain import Noun
from mcts.errors import InputError
from mcts.search.seeding import seed_from
from mcts.statistics import Interval

ALPHA = 0.05
"""The family-wise error rate."""
NOISE = 0.01
"""Speedups whose ratio is within it are ties: twice what a repeated measurement varies by."""
NO_KERNEL = Interval(1.0, 1.0, 1.0)
"""The speedup of a problem without a correct kernel: its user keeps the model."""


class Duel(Noun):
    """The reference against another suite, by the speedup over one baseline.

    ratio: geometric mean over problems of the reference's speedup over the other's, above 1 if the
    reference is better, with its 95 % interval over problems. p: exact two-sided signed-rank over
    problems, of which those within `NOISE` are ties (the ratio includes these); p_holm: after Holm
    over all duels; smallest_p: what p would be had all problems gone the same way.
    effect: matched-pairs rank-biserial. wins, ties, losses: the reference's; a tie is two intervals
    that overlap, or a ratio within `NOISE`. detectable: the smallest ratio that such a comparison
    would find 4 times in 5; None if it finds none.
    not_measured: problems that are left out because a correct kernel was not measured over this
    baseline.
    """

    suite: str
    over: str
    problems: int
    ratio: float
    low: float
    high: float
    p: float
    p_holm: float = 1.0
    effect: float
    wins: int
    ties: int
    losses: int
    detectable: float | None
    not_measured: tuple[str, ...]


class LeftOut(Noun):
    """A problem that is not compared, and why."""

    problem: str
    why: str


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite as it was read; `label` is what it is called in tables."""

    label: str
    path: Path
    plan: Plan
    outcomes: Mapping[str, Outcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All that a comparison finds; the first suite is the reference.

    outcomes: by suite, in one order, those of the problems that all suites have.
    summaries: the metrics of each suite over these problems. settings: by name, those that differ,
    with each suite's value, None if it has none.
    """

    suites: tuple[Suite, ...]
    outcomes: Mapping[str, tuple[Outcome, ...]]
    summaries: Mapping[str, Summary]
    duels: tuple[Duel, ...]
    left_out: tuple[LeftOut, ...]
    settings: Mapping[str, tuple[Any, ...]]
    warnings: tuple[str, ...]

    @property
    def reference(self) -> str:
        return self.suites[0].label


def read_suites(paths: Sequence[Path]) -> list[Suite]:
    """The suites of `paths`. InputError if one is none, or is given twice, or is the only one."""
    if len({path.resolve() for path in paths}) < max(2, len(paths)):
        raise InputError("give the folders of two suites or more, each once")
    names = [path.resolve().name for path in paths]
    found = []
    for path, name in zip(paths, names, strict=True):
        folder = SuiteFolder(path)
        plan = folder.plan()
        outcomes = {outcome.key: outcome for outcome in folder.outcomes(plan)}
        label = name if names.count(name) == 1 else str(path)
        found.append(Suite(label, path, plan, outcomes))
    return found


def compare_suites(suites: Sequence[Suite]) -> Comparison:
    """Compare the first suite with each of the others. InputError if no problem is in all."""
    left_out = dict(_left_out(suites))
    keys = [item.key for item in suites[0].plan.problems if item.key not in left_out]
    if not keys:
        some = "; ".join(f"{item.problem} {item.why}" for item in list(left_out.values())[:3])
        raise InputError(f"the suites have no problem in common that can be compared: {some}")
    outcomes = {suite.label: tuple(suite.outcomes[key] for key in keys) for suite in suites}
    duels = list(_duels(outcomes))
    corrected = holm([duel.p for duel in duels])
    summaries = {label: summarize(found) for label, found in outcomes.items()}
    return Comparison(
        suites=tuple(suites),
        outcomes=outcomes,
        summaries=summaries,
        duels=tuple(
            duel.model_copy(update={"p_holm": p}) for duel, p in zip(duels, corrected, strict=True)
        ),
        left_out=tuple(left_out.values()),
        settings=_differing([suite.plan.settings for suite in suites]),
        warnings=tuple(_warnings(outcomes, summaries, duels)),
    )


def speedup_of(outcome: Outcome, over: str) -> Interval | None:
    """A problem's speedup, `NO_KERNEL` if it has no correct one, None if it was not measured."""
    if outcome.status != "correct":
        return NO_KERNEL
    gain = outcome.eager if over == EAGER else outcome.compiled
    return None if gain is None else Interval(gain.low, gain.speedup, gain.high)


def result_of(ours: Interval, theirs: Interval) -> str:
    """``win``, ``tie`` or ``loss`` of ours."""
    if ours.low <= theirs.high and theirs.low <= ours.high:
        return "tie"
    if _within_noise(math.log(ours.point / theirs.point)):
        return "tie"
    return "win" if ours.point > theirs.point else "loss"


def _within_noise(difference: float) -> bool:
    return abs(difference) <= math.log1p(NOISE)


def _left_out(suites: Sequence[Suite]) -> Iterator[tuple[str, LeftOut]]:
    """By key, the problems that are not compared, in the order of levels and numbers."""
    planned = {item.key: item for suite in suites for item in suite.plan.problems}
    for item in sorted(planned.values(), key=lambda item: (item.level, item.number)):
        if why := _why_left_out(item.key, suites):
            yield item.key, LeftOut(problem=item.name, why=why)


def _why_left_out(key: str, suites: Sequence[Suite]) -> str:
    """Why a problem cannot be compared; empty if it can."""
    names = {item.name for suite in suites for item in suite.plan.problems if item.key == key}
    have = [suite.label for suite in suites if any(i.key == key for i in suite.plan.problems)]
    if len(have) < len(suites):
        return f"is only in {', '.join(have)}"
    if len(names) > 1:
        return f"is not the same problem in all: {', '.join(sorted(names))}"
    if waiting := [suite.label for suite in suites if key not in suite.outcomes]:
        return f"was not run yet in {', '.join(waiting)}"
    if unfair := [suite.label for suite in suites if suite.outcomes[key].status == "unfair"]:
        return f"was refused by the task gate in {', '.join(unfair)}"
    return ""


def _duels(outcomes: Mapping[str, Sequence[Outcome]]) -> Iterator[Duel]:
    (_, ours), *others = outcomes.items()
    asked = [
        (label, over, theirs)
        for over in (EAGER, TORCH_COMPILE)
        for label, theirs in others
        if over == EAGER or (_any_compiled(ours) and _any_compiled(theirs))
    ]
    for label, over, theirs in asked:
        if (duel := _duel(label, over, ours, theirs, family=len(asked))) is not None:
            yield duel


def _any_compiled(outcomes: Sequence[Outcome]) -> bool:
    """Whether a suite was measured over torch.compile at all."""
    return any(outcome.compiled is not None for outcome in outcomes)


def _duel(
    label: str, over: str, ours: Sequence[Outcome], theirs: Sequence[Outcome], *, family: int
) -> Duel | None:
    """Our suite against the other; None if no problem was measured in both."""
    pairs: list[tuple[Interval, Interval]] = []
    missing: list[str] = []
    for one, other in zip(ours, theirs, strict=True):
        mine, its = speedup_of(one, over), speedup_of(other, over)
        if mine is None or its is None:
            missing.append(one.name)
        else:
            pairs.append((mine, its))
    if not pairs:
        return None
    logs = np.array([math.log(mine.point / its.point) for mine, its in pairs])
    clear = np.array([0.0 if _within_noise(value) else value for value in logs.tolist()])
    results = [result_of(mine, its) for mine, its in pairs]
    seed = seed_from("compare suites", label, over)
    test, mean = signed_rank(clear), hierarchical([np.array([each]) for each in logs], seed=seed)
    return Duel(
        suite=label,
        over=over,
        problems=len(pairs),
        ratio=math.exp(mean.mean),
        low=math.exp(mean.low),
        high=math.exp(mean.high),
        p=test.p,
        effect=test.effect,
        wins=results.count("win"),
        ties=results.count("tie"),
        losses=results.count("loss"),
        detectable=detectable([logs], alpha=ALPHA / family, seed=seed, noise=math.log1p(NOISE)),
        not_measured=tuple(missing),
    )


def _differing(settings: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """The settings that are not the same in all suites, in the order in which they stand there."""
    names = dict.fromkeys(name for each in settings for name in each)
    values = {name: tuple(each.get(name) for each in settings) for name in names}
    return {
        name: each
        for name, each in values.items()
        if len({json.dumps(value, sort_keys=True) for value in each}) > 1
    }


def _warnings(
    outcomes: Mapping[str, Sequence[Outcome]],
    summaries: Mapping[str, Summary],
    duels: Sequence[Duel],
) -> Iterator[str]:
    """What limits the comparison, a sentence each."""
    hardware = {
        label: ", ".join(sorted({outcome.hardware for outcome in found if outcome.hardware}))
        for label, found in outcomes.items()
    }
    if len({name for name in hardware.values() if name}) > 1:
        shown = "; ".join(f"{label} on {name or 'unknown'}" for label, name in hardware.items())
        yield f"the suites ran on different hardware: {shown}"
    errors = [f"{label} {each.errors}" for label, each in summaries.items() if each.errors]
    if errors:
        yield f"counted as without a kernel because of an error: {', '.join(errors)}"
    fewest = min((duel.problems for duel in duels), default=0)
    if 2.0 ** (1 - fewest) > ALPHA:
        yield (
            f"{counted(fewest, 'problem')} cannot speak for others: no p-value below "
            f"{2.0 ** (1 - fewest):.2g} can come out"
        )
    if fewest < FEW_TASKS:
        yield f"an interval over {counted(fewest, 'problem')} covers less than 95 %"
