"""The verdict on a candidate. Its status decides which parts may exist."""

from __future__ import annotations

import math
from typing import Literal, Self

from pydantic import Field, model_validator

from mcts.domain.base import Noun
from mcts.domain.environment import Isolation
from mcts.domain.profile import Profile

Status = Literal[
    "compile_failed",
    "wrong_result",
    "runtime_error",
    "timed_out",
    "suspect",
    "refused",
    "measured",
]
FAILED: frozenset[Status] = frozenset(
    {"compile_failed", "wrong_result", "runtime_error", "timed_out", "suspect", "refused"}
)
CheatClass = Literal[
    "side_stream",
    "background_work",
    "lazy_output",
    "batched_calls",
    "pointer_cache",
    "content_cache",
    "cached_weights",
    "stale_memory",
    "reads_reference",
    "poisons_reference",
    "patched_timer",
    "patched_harness",
    "forged_result",
    "edited_grader",
    "phase_detection",
    "sabotaged_sampling",
    "input_mutation",
    "shrunk_task",
    "fallback",
    "wraps_reference",
    "precision_downgrade",
    "degenerate_task",
    "skipped_work",
    "hard_coded",
    "tolerance_abuse",
    "cache_persistence",
    "garbage",
    "leak",
]
"""How a candidate can score without doing the task's work, one name for each class."""
REGRESSION_MARGIN = 0.01
"""A workload may become slower by so much before that counts as a regression."""


class Build(Noun):
    """What the compiler made: its time, log and resources per kernel (registers, bytes)."""

    seconds: float | None = Field(default=None, ge=0)
    cached: bool = False
    log: str = ""
    registers: dict[str, int] = {}
    shared_bytes: dict[str, int] = {}
    local_bytes: dict[str, int] = {}
    cubin_sha256: str | None = None


class Refusal(Noun):
    """Evidence that a candidate scores without doing the task's work: its class, what was seen."""

    cheat: CheatClass
    evidence: str


class Verification(Noun):
    """Comparison with the reference over `rounds` fresh inputs.

    `max_error` is the greatest |out - ref|; `worst_ratio` the greatest |out - ref| over what the
    tolerance allows there, so that a passing result has a ratio of at most 1. `error_ratio` is the
    root mean square error over that of an honest implementation in the task's own precision.
    `detail` says where and how much, for a repair.
    """

    passed: bool
    rounds: int = Field(ge=0)
    max_error: float | None = None
    worst_ratio: float | None = None
    error_ratio: float | None = None
    detail: str = ""


class Latency(Noun):
    """Times in microseconds per call; speedup is baseline over candidate.

    They are from CUDA events, unless a judge's own clock says that calls take longer: then each
    counts as its block's mean by that clock.

    `speedup_low` and `speedup_high` bound a 95 % interval, as `low_us` and `high_us` do. `host_us`
    is the wall clock per call over a batch, which the events are held against. `samples_us` are the
    single calls. `detectable` is the least relative difference that so many rounds can tell
    from none. `least_us` is the least time that the roofline allows; None if it is not known.
    """

    median_us: float = Field(gt=0, allow_inf_nan=False)
    low_us: float = Field(gt=0, allow_inf_nan=False)
    high_us: float = Field(gt=0, allow_inf_nan=False)
    baseline_us: float = Field(gt=0, allow_inf_nan=False)
    speedup: float = Field(gt=0, allow_inf_nan=False)
    speedup_low: float = Field(gt=0, allow_inf_nan=False)
    speedup_high: float = Field(gt=0, allow_inf_nan=False)
    rounds: int = Field(gt=0)
    host_us: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    detectable: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    least_us: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    samples_us: tuple[float, ...] = ()
    baseline_samples_us: tuple[float, ...] = ()

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low_us <= self.median_us <= self.high_us:
            raise ValueError("the time's interval does not contain its median")
        if not self.speedup_low <= self.speedup <= self.speedup_high:
            raise ValueError("the speedup's interval does not contain the speedup")
        return self

    @property
    def sol_score(self) -> float | None:
        """How far the time has come from the baseline's to the least one, as SOL-ExecBench scores.

        1 / (1 + (time - least) / (baseline - least)) (its `sol_score.py`): 0.5 at the baseline, 1
        at the least time, more where that was beaten. None if the least time is not known, or
        the baseline takes no longer.
        """
        if self.least_us is None or self.baseline_us <= self.least_us:
            return None
        gap = self.baseline_us - self.least_us
        return gap / max(gap + self.median_us - self.least_us, 1e-3 * gap)


class ShapeTiming(Latency):
    """One workload's times among several. `weight` is its share: those of all sum to 1."""

    workload: str
    weight: float = Field(gt=0, le=1)

    @property
    def regressed(self) -> bool:
        """Whether it is slower than the baseline for sure, beyond `REGRESSION_MARGIN`."""
        return self.speedup_high < 1 - REGRESSION_MARGIN


class Timing(Latency):
    """A candidate's times; `baseline` says what the speedup is over.

    If several workloads were timed, `shapes` has each of them, the heaviest first. The times are
    then weighted latencies (the sum of weight times time), the speedup is the ratio of the
    baseline's to the candidate's, `rounds` is the total over the shapes, and only the shapes hold
    samples. `regressions_allowed`: the task allows candidates that make a shape slower.
    """

    baseline: str = "baseline"
    shapes: tuple[ShapeTiming, ...] = ()
    regressions_allowed: bool = False

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not self.shapes:
            return self
        if abs(sum(shape.weight for shape in self.shapes) - 1) > 1e-6:
            raise ValueError("the weights of the shapes do not sum to 1")
        if len({shape.workload for shape in self.shapes}) < len(self.shapes):
            raise ValueError("two shapes are of one workload")
        return self

    @property
    def sol_score(self) -> float | None:
        """That of the workloads, by weight; None if one of them has none."""
        if not self.shapes:
            return super().sol_score
        scores = [(shape.weight, shape.sol_score) for shape in self.shapes]
        known = [weight * score for weight, score in scores if score is not None]
        return sum(known) if len(known) == len(scores) else None

    @property
    def heaviest(self) -> Latency:
        """The times of the workload with the greatest weight: what rooflines are placed by."""
        return max(self.shapes, key=lambda shape: shape.weight, default=self)

    @property
    def regressions(self) -> tuple[str, ...]:
        """Workloads that became slower beyond noise and margin."""
        return tuple(shape.workload for shape in self.shapes if shape.regressed)

    def without_samples(self) -> Timing:
        """The same times without the single calls."""
        bare = {"samples_us": (), "baseline_samples_us": ()}
        shapes = tuple(shape.model_copy(update=bare) for shape in self.shapes)
        return self.model_copy(update={**bare, "shapes": shapes})


AT_LIMIT = 0.95
"""Share of its limit of power at which a board counts as being there: sensors err by 5 %."""


class Energy(Noun):
    """Energy per call in millijoules over a window of `window_s` seconds, with its interval.

    `idle_w` is the power of the idle device, already taken off if it is given; `baseline_mj`
    the baseline's energy per call, measured in the same way beside it, and `ratio_low` and
    `ratio_high` the 95 % interval of the candidate's over it; `call_us` and `baseline_call_us` how
    long a call took meanwhile, which at the board's limit of power is longer than in the short
    blocks of a timing; `limit_w` the power that the board is held to; `limits` says what the sensor
    could not resolve.
    """

    energy_mj: float = Field(gt=0)
    low_mj: float = Field(gt=0)
    high_mj: float = Field(gt=0)
    window_s: float = Field(gt=0)
    idle_w: float | None = Field(default=None, ge=0)
    baseline_mj: float | None = Field(default=None, gt=0)
    ratio_low: float | None = Field(default=None, gt=0)
    ratio_high: float | None = Field(default=None, gt=0)
    windows: int | None = Field(default=None, gt=0)
    call_us: float | None = Field(default=None, gt=0)
    baseline_call_us: float | None = Field(default=None, gt=0)
    limit_w: float | None = Field(default=None, gt=0)
    limits: str = ""

    @property
    def ratio(self) -> tuple[float, float]:
        """Ends of the interval of the energy over the baseline's; over itself without one."""
        if self.ratio_low is not None and self.ratio_high is not None:
            return self.ratio_low, self.ratio_high
        over = self.baseline_mj or self.energy_mj
        return self.low_mj / over, self.high_mj / over

    @property
    def power_w(self) -> float | None:
        """What the board draws while the candidate runs, idling included; None if not known."""
        if self.call_us is None or self.idle_w is None:
            return None
        return 1e3 * self.energy_mj / self.call_us + self.idle_w

    @property
    def at_limit(self) -> bool:
        """Whether that is all that the board may draw, as far as its sensor can tell.

        Hardly a kernel there takes less energy without taking less time under load.
        """
        return (self.power_w or 0.0) >= AT_LIMIT * (self.limit_w or math.inf)


class Evaluation(Noun):
    """One candidate's verdict.

    compile_failed: a build with its log and nothing after it.
    wrong_result: built and compared, and the comparison did not pass; no timing.
    runtime_error, timed_out: may have been built; no timing, no profile.
    suspect: has a timing that cannot be believed, with the reason in `message`, and perhaps the
    class of cheat that explains it; never a result.
    refused: there is evidence that it does not do the task's work; its figures are no result.
    measured: built (unless replayed from a recording without build facts), passed, timed.

    `isolation` describes the sandbox that the candidate ran in; `notes` are remarks that a reader
    of the numbers should know.
    """

    candidate_id: str
    status: Status
    message: str = ""
    build: Build | None = None
    verification: Verification | None = None
    timing: Timing | None = None
    profile: Profile | None = None
    energy: Energy | None = None
    refusal: Refusal | None = None
    isolation: Isolation | None = None
    notes: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _status_decides(self) -> Evaluation:
        allowed: dict[Status, set[str]] = {
            "compile_failed": {"build"},
            "wrong_result": {"build", "verification"},
            "runtime_error": {"build", "verification"},
            "timed_out": {"build", "verification"},
            "suspect": {"build", "verification", "timing", "refusal"},
            "refused": {"build", "verification", "timing", "refusal"},
            "measured": {"build", "verification", "timing", "profile", "energy"},
        }
        required: dict[Status, set[str]] = {
            "wrong_result": {"verification"},
            "suspect": {"timing"},
            "refused": {"refusal"},
            "measured": {"verification", "timing"},
        }
        parts = set().union(*allowed.values())
        present = {name for name in parts if getattr(self, name) is not None}
        if extra := present - allowed[self.status]:
            raise ValueError(f"an evaluation with status {self.status} has no {min(extra)}")
        if absent := required.get(self.status, set()) - present:
            raise ValueError(f"an evaluation with status {self.status} needs {min(absent)}")
        if self.verification is not None:
            if self.status == "measured" and not self.verification.passed:
                raise ValueError("a measured evaluation must have passed verification")
            if self.status == "wrong_result" and self.verification.passed:
                raise ValueError("a wrong result cannot have passed verification")
        if self.status != "measured" and not self.message:
            raise ValueError(f"status {self.status} needs a message that says why")
        return self

    @property
    def measured(self) -> bool:
        return self.status == "measured"

    @property
    def speedup(self) -> float | None:
        """Baseline time over candidate time; None unless measured."""
        return self.timing.speedup if self.measured and self.timing else None

    @property
    def held_back(self) -> tuple[str, ...]:
        """Workloads whose regression forbids handing the candidate back; empty if none does."""
        timing = self.timing
        return () if timing is None or timing.regressions_allowed else timing.regressions
