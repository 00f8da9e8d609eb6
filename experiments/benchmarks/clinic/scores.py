"""Fidelity of the tools and the classifier against the truth table: pure counting."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from experiments.benchmarks.clinic.cases import ClinicCase
from mcts.domain import BoundClass, Finding, Guidance, Limit

CLASSES: tuple[BoundClass, ...] = ("compute", "memory", "latency", "launch", "mixed", "unknown")
SHOWN = 5
"""Findings that a prompt shows: a planted one ranked lower would not be read."""
_FEWEST_GAINS = 3
_FEWEST_OF_KIND = 4
FIRST = 3
"""Findings that a person reads."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A case and the guidance for it.

    plugins: tools that others registered. The truth table does not know them, so that their
    findings are not judged. time_us: of a call; None for a program, which has several.
    """

    case: ClinicCase
    guidance: Guidance
    plugins: frozenset[str] = frozenset()
    time_us: float | None = None

    @property
    def fired(self) -> tuple[str, ...]:
        """Tools that fired, by rank."""
        return tuple(finding.tool for finding in self.guidance.findings)

    @property
    def judged(self) -> tuple[str, ...]:
        """Of the tools that fired, those which the truth table knows, by rank."""
        return tuple(tool for tool in self.fired if tool not in self.plugins)

    @property
    def bound(self) -> BoundClass:
        return self.guidance.roofline.bound if self.guidance.roofline else "unknown"

    @property
    def false_alarms(self) -> tuple[str, ...]:
        return tuple(tool for tool in self.judged if tool not in self.case.true)

    @property
    def missed(self) -> tuple[str, ...]:
        return tuple(sorted(self.case.planted - set(self.fired)))

    @property
    def rank(self) -> int | None:
        """At which place the first planted tool stands, from 1; None if none fired."""
        planted = self.case.planted
        ranks = (at for at, tool in enumerate(self.judged, 1) if tool in planted)
        return next(ranks, None)

    @property
    def planted_finding(self) -> Finding | None:
        """The first finding of a planted tool."""
        planted = self.case.planted
        return next((one for one in self.guidance.findings if one.tool in planted), None)

    @property
    def class_is_right(self) -> bool:
        return self.bound in self.case.bound

    @property
    def limit(self) -> Limit | None:
        return self.guidance.roofline.limit if self.guidance.roofline else None

    @property
    def limit_is_right(self) -> bool:
        return self.limit in self.case.limit


@dataclass(slots=True)
class ToolScore:
    """One tool over all cases.

    planted: ill kernels that it must name; found: those it named; shown: those in whose first
    five findings it stood; fired_on_repaired: repaired twins of those on which it still fired;
    fired and true: findings in all, and those the truth table agrees with.
    """

    tool: str
    planted: int = 0
    found: int = 0
    shown: int = 0
    fired_on_repaired: int = 0
    fired: int = 0
    true: int = 0

    @property
    def recall(self) -> float | None:
        return self.found / self.planted if self.planted else None

    @property
    def precision(self) -> float | None:
        return self.true / self.fired if self.fired else None


@dataclass(slots=True)
class PluginCount:
    """On how many ill kernels and repaired twins a plug-in fired, whether rightly or not."""

    tool: str
    ill: int = 0
    repaired: int = 0


@dataclass(frozen=True, slots=True)
class PredictedGains:
    """How far the gains that findings of planted tools expect are from those of the twins.

    factor: the median of the greater over the smaller of both. correlation: Spearman's. inside: in
    how many the twin's gain lies in the predicted interval.
    """

    kernels: int
    factor: float
    correlation: float
    inside: int


def predicted_gains(examined: Sequence[CaseResult]) -> PredictedGains | None:
    """Over the kernels whose finding expects a gain and whose twins both have a time; None if
    there are fewer than three.
    """
    from scipy.stats import spearmanr

    repaired = {one.case.kernel.name: one.time_us for one in examined if one.case.repaired}
    pairs: list[tuple[float, float, Finding]] = []
    for one in examined:
        after, finding = repaired.get(one.case.kernel.name), one.planted_finding
        if one.case.repaired or finding is None or finding.expected_gain is None:
            continue
        if one.time_us and after and finding.expected_high is not None:
            pairs.append((finding.expected_gain, one.time_us / after, finding))
    if len(pairs) < _FEWEST_GAINS:
        return None
    off = [abs(math.log(expected / gain)) for expected, gain, _ in pairs]
    found = spearmanr([one[0] for one in pairs], [one[1] for one in pairs])
    return PredictedGains(
        kernels=len(pairs),
        factor=math.exp(median(off)),
        correlation=float(found.statistic),
        inside=sum(
            (one.expected_low or 1.0) <= gain <= (one.expected_high or math.inf)
            for _, gain, one in pairs
        ),
    )


@dataclass(frozen=True, slots=True)
class Scores:
    """Fidelity over a set of cases; `plugins` stand outside of every figure."""

    tools: tuple[ToolScore, ...]
    confusion: dict[tuple[BoundClass, BoundClass], int] = field(default_factory=dict)
    """Patients by (right class, class given); a given class among several right ones is right."""
    cases: int = 0
    plugins: tuple[PluginCount, ...] = ()
    ill: int = 0
    first: int = 0
    """Ill kernels of which a planted tool spoke first."""
    among_first: int = 0
    """Ill kernels of which a planted tool was among the first `FIRST`."""
    quiet: int = 0
    """Repaired twins of which nothing untrue was said."""
    limits: int = 0
    """Cases of which the table says which level of memory, or what else, limits."""
    limits_right: int = 0

    @property
    def repaired(self) -> int:
        return self.cases - self.ill

    @property
    def macro_recall(self) -> float | None:
        """Mean recall over the tools that were planted."""
        return _mean(score.recall for score in self.tools)

    @property
    def macro_precision(self) -> float | None:
        """Mean precision over the tools that were planted and fired."""
        return _mean(score.precision for score in self.tools if score.planted)

    @property
    def macro_precision_of_all(self) -> float | None:
        """Mean precision over all tools that fired, planted or not."""
        return _mean(score.precision for score in self.tools)

    @property
    def micro_precision(self) -> float | None:
        fired = sum(score.fired for score in self.tools)
        return sum(score.true for score in self.tools) / fired if fired else None

    @property
    def micro_recall(self) -> float | None:
        planted = sum(score.planted for score in self.tools)
        return sum(score.found for score in self.tools) / planted if planted else None

    @property
    def shown(self) -> float | None:
        """Share of planted bottlenecks named among the first five findings."""
        planted = sum(score.planted for score in self.tools)
        return sum(score.shown for score in self.tools) / planted if planted else None

    @property
    def fired_on_repaired(self) -> int:
        return sum(score.fired_on_repaired for score in self.tools)

    @property
    def class_accuracy(self) -> float | None:
        right = sum(n for (true, given), n in self.confusion.items() if true == given)
        return right / self.cases if self.cases else None


def score(examined: Sequence[CaseResult]) -> Scores:
    """Count over `examined`."""
    tools: dict[str, ToolScore] = {}
    confusion: dict[tuple[BoundClass, BoundClass], int] = {}
    for one in examined:
        case = one.case
        for tool in case.planted:
            entry = tools.setdefault(tool, ToolScore(tool))
            entry.planted += 1
            entry.found += tool in one.judged
            entry.shown += tool in one.judged[:SHOWN]
        for tool in one.judged:
            entry = tools.setdefault(tool, ToolScore(tool))
            entry.fired += 1
            entry.true += tool in case.true
            entry.fired_on_repaired += (
                case.repaired and tool in case.kernel.expects and tool not in case.true
            )
        cell = (one.bound if one.class_is_right else case.bound[0], one.bound)
        confusion[cell] = confusion.get(cell, 0) + 1
    ranks = [one.rank for one in examined if not one.case.repaired]
    return Scores(
        tuple(tools[name] for name in sorted(tools)),
        confusion,
        len(examined),
        _plugins(examined),
        ill=len(ranks),
        first=ranks.count(1),
        among_first=sum(rank is not None and rank <= FIRST for rank in ranks),
        quiet=sum(one.case.repaired and not one.false_alarms for one in examined),
        limits=sum(bool(one.case.limit) for one in examined),
        limits_right=sum(one.limit_is_right for one in examined),
    )


@dataclass(frozen=True, slots=True)
class KindScore:
    """The ill kernels of one kind: of how many a planted tool spoke first, or among the first."""

    kind: str
    kernels: int
    first: int
    among_first: int


def by_kind(examined: Sequence[CaseResult]) -> list[KindScore]:
    """The kinds of which there are several kernels, by name."""
    ranks: dict[str, list[int | None]] = {}
    for one in examined:
        if not one.case.repaired:
            ranks.setdefault(one.case.kernel.ailment, []).append(one.rank)
    return [
        KindScore(
            kind,
            len(found),
            found.count(1),
            sum(rank is not None and rank <= FIRST for rank in found),
        )
        for kind, found in sorted(ranks.items())
        if len(found) >= _FEWEST_OF_KIND
    ]


def _plugins(examined: Sequence[CaseResult]) -> tuple[PluginCount, ...]:
    """Every plug-in that took part, by name, also those that never fired."""
    counts = {name: PluginCount(name) for one in examined for name in sorted(one.plugins)}
    for one in examined:
        for name in one.plugins.intersection(one.fired):
            counts[name].repaired += one.case.repaired
            counts[name].ill += not one.case.repaired
    return tuple(counts[name] for name in sorted(counts))


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
