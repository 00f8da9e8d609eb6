"""What a suite knows of one problem once it is done with it; kept as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mcts.domain import Noun, Timing

Status = Literal["correct", "failed", "unfair", "error"]


class Gain(Noun):
    """Times in microseconds per call; the speedup is over `over`, with its 95 % interval."""

    over: str
    time_us: float
    baseline_us: float
    speedup: float = Field(gt=0)
    low: float
    high: float

    @classmethod
    def of(cls, timing: Timing) -> Gain:
        return cls(
            over=timing.baseline,
            time_us=timing.median_us,
            baseline_us=timing.baseline_us,
            speedup=timing.speedup,
            low=timing.speedup_low,
            high=timing.speedup_high,
        )


class Spent(Noun):
    """What a problem's search took, every reply of a model included: those fields of
    `mcts.journal.summary.Totals` that a suite keeps.

    `cost_usd` and `tokens` are None if no reply told; `unpriced` counts replies whose cost is
    not in it. `evaluations` counts trials, failures included; `seconds` is wall clock over all
    sessions, `gpu_s` the part in which candidates were judged.
    """

    evaluations: int = 0
    cost_usd: float | None = None
    unpriced: int = 0
    tokens: int | None = None
    seconds: float = 0.0
    gpu_s: float = 0.0


class Outcome(Noun):
    """How one problem ended.

    correct: a candidate was measured and confirmed; `eager` is its gain.
    failed: the search is over and no candidate is correct.
    unfair: the task gate refused the problem: it proves nothing, whoever solves it.
    error: it could not be searched to the end; the next call tries again.

    `compiled` is the gain over torch.compile; where it is None, `not_compiled` says why, and
    `unsettled` whether the world was to blame, so that the next call tries again. `kernel` is the
    exported file's name; `message` says what went wrong or should be known.
    """

    level: int
    number: int
    name: str
    status: Status
    message: str = ""
    hardware: str = ""
    candidate_id: str = ""
    eager: Gain | None = None
    compiled: Gain | None = None
    not_compiled: str = ""
    unsettled: bool = False
    kernel: str = ""
    notes: tuple[str, ...] = ()
    stop_reason: str = ""
    spent: Spent = Spent()

    @property
    def key(self) -> str:
        return f"level{self.level}_{self.number}"

    @property
    def final(self) -> bool:
        """Whether another call would only find the same."""
        return self.status != "error" and not self.unsettled
