"""Parts of a run from plain Python: a function that measures, a space of values, no advice."""

from __future__ import annotations

import inspect
import math
import threading
from collections.abc import Callable, Mapping, Sequence

from pydantic import ValidationError

from mcts.domain import (
    SPACE,
    Candidate,
    Evaluation,
    Guidance,
    Hardware,
    KernelTask,
    Profile,
    Scalar,
    Timing,
    Tunable,
    TunableSpace,
    Verification,
    Workload,
    first_problem,
)
from mcts.errors import InputError, RooftreeError
from mcts.ports import Advisor, Evaluator
from mcts.text import one_line

Measure = Callable[[Candidate], float | tuple[float, float]]
"""Measures a candidate: its time in microseconds, or any other cost above 0, alone or with its
noise: the half-width of its 95 % interval as a share of it."""
_MOST_WORDS = 300


def task_of(
    tunables: Mapping[str, Sequence[Scalar]], *, where: Sequence[str] = (), name: str = "space"
) -> KernelTask:
    """A task whose variants are values alone; the first of each tunable make the baseline.

    `where` are expressions over the names that every combination must satisfy. InputError if a
    tunable has no values or a name cannot be used.
    """
    if isinstance(where, str):
        raise InputError(f"where: a list of expressions, such as [{where!r}]")
    for tunable, values in tunables.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise InputError(f"tunable {tunable!r} needs a list of values, not {values!r:.60}")
    try:
        space = TunableSpace(
            tunables={
                tunable: Tunable(values=tuple(values), default=values[0])
                for tunable, values in tunables.items()
            },
            where=tuple(where),
        )
    except ValidationError as error:
        raise InputError(f"these tunables are none: {first_problem(error)}") from None
    task = KernelTask(
        name=name,
        dialect=SPACE,
        baseline=Candidate(tunables=space.default()),
        workloads=(Workload(name="all", shape={}),),
        space=space,
    )
    if not task.allows(space, space.default()):
        raise InputError(f"`where` excludes the baseline, the first values: {space.default()}")
    return task


class FunctionEvaluator(Evaluator):
    """Judges by calling a function. What it raises, and what is no time, is a failed candidate.

    `noise` is what a result without its own has. With several trials in flight it is called by
    several threads at once. InputError if it cannot be called with one candidate.
    """

    name = "function"

    def __init__(
        self, measure: Measure, task: KernelTask, *, noise: float = 0.0, hardware: str = "Python"
    ) -> None:
        _check_callable(measure)
        self.task = task
        self._measure, self._noise = measure, noise
        self._hardware = Hardware(name=hardware)
        self._lock = threading.Lock()
        self._baseline: tuple[float, float] | None = None

    @property
    def hardware(self) -> Hardware:
        return self._hardware

    def evaluate(self, candidate: Candidate) -> Evaluation:
        try:
            with self._lock:
                if self._baseline is None:
                    self._baseline = self._measured(self.task.baseline)
            baseline = self._baseline
            known = candidate.id == self.task.baseline.id
            time, noise = baseline if known else self._measured(candidate)
        except RooftreeError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a user's function raises
            said = one_line(f"{type(error).__name__}: {error}", _MOST_WORDS)
            return Evaluation(candidate_id=candidate.id, status="runtime_error", message=said)
        return Evaluation(
            candidate_id=candidate.id,
            status="measured",
            verification=Verification(passed=True, rounds=1),
            timing=_timing(time, noise, *baseline),
        )

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        return Profile(missing={"counters": "a function measures times alone"})

    def close(self) -> None:
        pass

    def _measured(self, candidate: Candidate) -> tuple[float, float]:
        found = self._measure(candidate)
        time, noise = found if isinstance(found, tuple) else (found, self._noise)
        time, noise = float(time), float(noise)
        if not (math.isfinite(time) and time > 0):
            raise ValueError(f"the function returned {time}: a time above 0 is expected")
        if not 0 <= noise < 1:
            raise ValueError(f"the function's noise is {noise}: a share from 0 to below 1 is meant")
        return time, noise


def _check_callable(measure: Measure) -> None:
    try:
        signature = inspect.signature(measure)
    except (TypeError, ValueError):  # of something compiled that does not tell
        return
    try:
        signature.bind(None)
    except TypeError:
        raise InputError(
            "the function is called with one candidate, whose `tunables` maps names to values: "
            f"def measure(candidate); yours is {one_line(str(signature), _MOST_WORDS)}"
        ) from None


def _timing(time: float, noise: float, baseline: float, baseline_noise: float) -> Timing:
    speedup = baseline / time
    low, high = 1 - noise, 1 + noise
    return Timing(
        median_us=time,
        low_us=time * low,
        high_us=time * high,
        baseline_us=baseline,
        speedup=speedup,
        speedup_low=speedup * (1 - baseline_noise) / high,
        speedup_high=speedup * (1 + baseline_noise) / low,
        rounds=1,
    )


class SilentAdvisor(Advisor):
    """Has nothing to say."""

    def advise(self, task: KernelTask, evaluation: Evaluation) -> Guidance:
        return Guidance()
