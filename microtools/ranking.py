"""Which finding comes first, and how experience changes that.

    score = strength x weight(tool) x share of the time x what its causes leave unexplained
            x sqrt(log(expected gain))

The strength is that of the evidence. The weight is the gain that following the tool has brought so
far over the gain that was expected (`calibrated_weights`), 1 before anything is known. The share is
the kernel's profiled time over that of the longest kernel, and for a program times the part of its
time on the device in which kernels run. The last factor keeps one fault from being reported eight
times: a tool says in `symptom_of` which tools' findings explain its own, and each of those on the
same kernel leaves (1 - its strength) of it unexplained. A finding that is almost wholly explained
is left out, and a note says so; so is one whose repair would gain less than LEAST_GAIN, since
something else limits the kernel, and such a one explains nothing. The gain is what the model of
the kernel's time expects of a repair (`microtools.gains`), UNKNOWN_GAIN where it says nothing; the
root was chosen among four powers on the clinic's tuning half.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mcts.domain import Finding
from mcts.errors import InputError

LEAST_WEIGHT, MOST_WEIGHT = 0.25, 4.0
LEAST_UNEXPLAINED = 0.2
"""Strength below which the unexplained rest of a symptom is left out."""
PSEUDO_COUNT = 5
"""How many followed findings the prior is worth."""
_STALLS = (
    "global_latency",
    "shared_latency",
    "barrier_stalls",
    "load_queue",
    "dependent_instructions",
    "control_flow",
    "write_drain",
)
OTHER_PRIOR = 1.2
LEAST_GAIN = 1.05
"""Expected gain of the kernel below which a finding is left out. On the `causes` set a third of
what is untrue is below it, and nothing that is planted."""
UNKNOWN_GAIN = 2.0
"""What a finding without an expected gain counts as."""
PRIOR_GAINS: Mapping[str, float] = {
    "register_spills": 1.44,
    "occupancy_limiter": 1.48,
    **dict.fromkeys(_STALLS, 1.41),
    "missing_reuse": 1.42,
    "launch_overhead": 1.32,
    "tensor_cores": 1.31,
    "coalescing": 1.24,
    "narrow_access": 1.16,
}
"""Mean speedup after a firing of the tool, as KernelPro published it; OTHER_PRIOR elsewhere."""


@dataclass(frozen=True)
class ToolRecord:
    """What came of a tool's advice: how often it was followed, and how that went.

    `improved` and `failed` are parts of `followed`. `mean_log_gain` is the mean natural logarithm
    of the speedup over those that were measured, that is, did not fail. Raises InputError for
    numbers that cannot be.
    """

    tool: str
    followed: int
    improved: int
    failed: int
    mean_log_gain: float

    def __post_init__(self) -> None:
        possible = min(self.improved, self.failed) >= 0 and (
            self.improved + self.failed <= self.followed
        )
        if not possible or not math.isfinite(self.mean_log_gain):
            raise InputError(f"the record of micro-tool {self.tool!r} cannot be: {self}")


def calibrated_weights(statistics: Iterable[ToolRecord]) -> dict[str, float]:
    """Weight per tool: the gain expected after what was seen, over the gain expected before.

    The mean log gain of the followed, a failure counting as no gain, is shrunk towards the log of
    the prior gain as though PSEUDO_COUNT more had brought just that:

        weight = exp((sum of log gains + n log prior) / (followed + n)) / prior, n = PSEUDO_COUNT

    Without data it is 1. Several records of a tool are added up. Clipped to
    [LEAST_WEIGHT, MOST_WEIGHT].
    """
    sums: dict[str, tuple[int, float]] = {}
    for record in statistics:
        count, total = sums.get(record.tool, (0, 0.0))
        gained = (record.followed - record.failed) * record.mean_log_gain
        sums[record.tool] = (count + record.followed, total + gained)
    return {tool: _weight(tool, count, total) for tool, (count, total) in sums.items()}


def _weight(tool: str, count: int, total: float) -> float:
    """Written as a deviation from the prior, so that no data gives 1 to the last bit."""
    prior = math.log(PRIOR_GAINS.get(tool, OTHER_PRIOR))
    deviation = (total - count * prior) / (count + PSEUDO_COUNT)
    most = math.log(MOST_WEIGHT)
    return math.exp(min(most, max(-most, deviation)))


def clip(weight: float) -> float:
    """A weight as the ranking uses it; one that is no number counts as 1."""
    return 1.0 if math.isnan(weight) else min(MOST_WEIGHT, max(LEAST_WEIGHT, weight))


@dataclass(frozen=True)
class Scored:
    """A finding with its score, and the tool that explains it best, "" for none.

    `gains_nothing`: its repair is expected to gain less than `LEAST_GAIN`.
    """

    finding: Finding
    score: float
    unexplained: float = 1.0
    cause: str = ""
    gains_nothing: bool = False

    @property
    def explained(self) -> bool:
        return self.unexplained < 1 and self.finding.strength * self.unexplained < LEAST_UNEXPLAINED

    @property
    def left_out(self) -> bool:
        return self.explained or self.gains_nothing


def score(
    findings: Sequence[Finding],
    *,
    beside: Sequence[Finding] = (),
    weights: Mapping[str, float],
    causes: Mapping[str, frozenset[str]],
    share: float = 1.0,
) -> list[Scored]:
    """Score the findings about one kernel, or about the timeline.

    `beside` are findings that may explain them and are scored elsewhere; `causes` names for each
    tool those that explain it; `share` is the kernel's time over the longest kernel's.
    """
    every = (*beside, *findings)
    strengths = {finding.tool: finding.strength for finding in every}
    spoken = {finding.tool for finding in every if not gains_nothing(finding)}
    explaining = {tool: causes.get(tool, frozenset()) & (spoken - {tool}) for tool in strengths}
    unexplained = {
        tool: math.prod(1 - strengths[cause] for cause in explaining[tool]) for tool in strengths
    }
    scored = []
    for finding in findings:
        tool = finding.tool
        # The strongest cause that is not a symptom itself, if there is one.
        cause = max(
            sorted(explaining[tool]),
            key=lambda name: (unexplained[name] == 1, strengths[name]),
            default="",
        )
        value = finding.strength * clip(weights.get(tool, 1.0)) * share * unexplained[tool]
        value *= math.sqrt(math.log(finding.expected_gain or UNKNOWN_GAIN))
        scored.append(Scored(finding, value, unexplained[tool], cause, gains_nothing(finding)))
    return scored


def gains_nothing(finding: Finding) -> bool:
    """Whether its repair is expected to gain less than `LEAST_GAIN`; not where nobody knows."""
    return finding.expected_gain is not None and finding.expected_gain < LEAST_GAIN


def merged(scored: Iterable[Scored]) -> list[Scored]:
    """Every tool once, the highest score first; equal scores keep their order.

    Of a tool that speaks about several kernels the highest score stays and names them all. Where
    it is left out for one kernel but not for another, the other counts.
    """
    by_tool: dict[str, list[Scored]] = {}
    for item in scored:
        by_tool.setdefault(item.finding.tool, []).append(item)
    best = [_strongest(same) for same in by_tool.values()]
    return sorted(best, key=lambda item: -item.score)


def _strongest(same: Sequence[Scored]) -> Scored:
    kept = [item for item in same if not item.left_out] or list(same)
    kept = sorted(kept, key=lambda item: -item.score)
    names = dict.fromkeys(item.finding.kernel for item in kept if item.finding.kernel)
    found = kept[0].finding.model_copy(update={"kernel": ", ".join(names)})
    return replace(kept[0], finding=found)
