"""An evaluator: answers from a table of times that somebody measured, in CSV.

One row for each variant: a column for each tunable, `status`, and any number of columns `us_1`,
`us_2`, ... with the microseconds of single calls.
"""

from __future__ import annotations

import csv
import statistics
from dataclasses import dataclass
from pathlib import Path

from mcts.domain import (
    Candidate,
    Evaluation,
    Hardware,
    KernelTask,
    Profile,
    Timing,
    Verification,
)
from mcts.errors import InputError, NotRecorded
from mcts.ports import Evaluator
from mcts.requests import EvaluatorRequest
from mcts.search.seeding import seed_from
from mcts.statistics import median_interval, speedup_unpaired

Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Row:
    status: str
    times_us: tuple[float, ...]


class TimesheetEvaluator(Evaluator):
    """Judges variants of the task's own source. Pure, so that many threads may ask.

    Raises InputError for a file that cannot be used.
    """

    name = "timesheet"

    def __init__(self, task: KernelTask, path: Path) -> None:
        self.task, self._path = task, path
        self._rows = _read(path, names=tuple(task.baseline.tunables))
        baseline = self._rows.get(_key(task.baseline))
        if baseline is None or not baseline.times_us:
            raise InputError(f"{path} has no times of the baseline, {dict(task.baseline.tunables)}")
        self._baseline = baseline

    @property
    def hardware(self) -> Hardware:
        return Hardware(name=f"whatever {self._path.name} was measured on")

    def evaluate(self, candidate: Candidate) -> Evaluation:
        """Raises NotRecorded for what the table does not hold."""
        row = self._rows.get(_key(candidate))
        if row is None or candidate.source != self.task.baseline.source:
            raise NotRecorded("the table holds the task's own source with other tunables only")
        if not row.times_us:
            return Evaluation(
                candidate_id=candidate.id,
                status="runtime_error",
                message=f"the table says {row.status}",
            )
        return Evaluation(
            candidate_id=candidate.id,
            status="measured",
            verification=Verification(passed=True, rounds=0, detail="as the table says"),
            timing=self._timing(candidate, row.times_us),
        )

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        return Profile(missing={"counters": "a table of times has none"})

    def close(self) -> None:
        """Nothing is held."""

    def _timing(self, candidate: Candidate, times_us: tuple[float, ...]) -> Timing:
        before, seed = self._baseline.times_us, seed_from(0, candidate.id)
        time = median_interval(times_us, seed=seed)
        speedup = speedup_unpaired(before, times_us, seed=seed)
        return Timing(
            median_us=time.point,
            low_us=time.low,
            high_us=time.high,
            baseline_us=statistics.median(before),
            speedup=speedup.point,
            speedup_low=speedup.low,
            speedup_high=speedup.high,
            rounds=len(times_us),
            samples_us=times_us,
            baseline_samples_us=before,
        )


def _read(path: Path, *, names: tuple[str, ...]) -> dict[Key, Row]:
    rows: dict[Key, Row] = {}
    with path.open(newline="") as file:
        for line, cells in enumerate(csv.DictReader(file), start=2):
            try:
                key = tuple(sorted((name, cells[name]) for name in names))
                times = [float(text) for name, text in cells.items() if name[:3] == "us_" and text]
                rows[key] = Row(cells["status"], tuple(times))
            except (KeyError, ValueError, TypeError) as error:
                raise InputError(f"{path}, line {line}: {error!r}; want {names}") from None
    return rows


def _key(candidate: Candidate) -> Key:
    return tuple(sorted((name, str(value)) for name, value in candidate.tunables.items()))


def timesheet_evaluator(request: EvaluatorRequest) -> TimesheetEvaluator:
    """As the entry-point group names it; `argument` is what stands behind the colon."""
    if not request.argument:
        raise InputError("--evaluator timesheet needs the table: timesheet:FILE.csv")
    return TimesheetEvaluator(request.task, Path(request.argument))
