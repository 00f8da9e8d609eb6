"""Where does a greedy search get stuck?

    python -m experiments.benchmarks.evidence.traps [TASK...]

A *trap* is a recorded variant that no change of a single tunable makes faster, though the best
variant is more than 5 % faster: a search that takes the best single step as long as one helps ends
there. Prints a Markdown table of the bundled tasks' recordings, or of the named tasks and T4 files:
how many traps there are, from which share of all variants the best single steps lead into one, and
whether they do so from the baseline. Times are medians as recorded; failed variants are not
neighbours. If a recording holds only a part of the space, the way out of a trap may be missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from experiments.runs.tasks.files import bundled, find_task
from mcts.errors import InputError, RooftreeError
from profilers.recordings.recording import Recording
from profilers.recordings.t4 import load_recording

FAR_FROM_BEST = 1.05
HEAD = (
    "| task | variants | best | median variant | within 5 % of the best | traps | worst trap "
    "| descents that end in one | from the baseline |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
)


@dataclass(frozen=True)
class Landscape:
    """The measured variants of a recording and the single steps between them.

    `rows`: n x tunables, positions of values. `times_us`: n. `baseline`: its row's number.
    """

    rows: NDArray[np.int64]
    times_us: NDArray[np.float64]
    baseline: int

    @classmethod
    def of(cls, recording: Recording) -> Landscape:
        """The landscape of a recording. InputError if its baseline was not measured."""
        measured = recording.measured
        places = {
            name: {value: at for at, value in enumerate(values)}
            for name, values in recording.tunables.items()
        }
        rows = [
            [known[variant.configuration[name]] for name, known in places.items()]
            for variant in measured
        ]
        numbers = {variant.key: number for number, variant in enumerate(measured)}
        times = [variant.time_us for variant in measured]
        return cls(
            np.array(rows, dtype=np.int64),
            np.array(times, dtype=np.float64),
            numbers[recording.baseline_record().key],
        )

    @cached_property
    def descents(self) -> NDArray[np.int64]:
        """For each variant the row number at which the best single steps from it end."""
        steps = np.arange(len(self.rows))
        for at, row in enumerate(self.rows):
            near = np.flatnonzero((self.rows != row).sum(axis=1) == 1)
            if len(near) and self.times_us[near].min() < self.times_us[at]:
                steps[at] = near[self.times_us[near].argmin()]
        ends = steps
        while (further := steps[ends]).tolist() != ends.tolist():
            ends = further
        return ends

    @cached_property
    def traps(self) -> NDArray[np.int64]:
        """The row numbers of the ends that are far from the best."""
        ends = np.unique(self.descents)
        far: NDArray[np.int64] = ends[self.times_us[ends] > FAR_FROM_BEST * self.times_us.min()]
        return far

    @property
    def trapped(self) -> float:
        """The share of variants whose descent ends in a trap."""
        return float(np.isin(self.descents, self.traps).mean())


def row(name: str, land: Landscape) -> str:
    """A row of the Markdown table."""
    times, best = land.times_us, land.times_us.min()
    worst = f"{times[land.traps].max() / best:.2f}x the best's time" if len(land.traps) else ""
    end = land.descents[land.baseline]
    home = "a trap" if end in land.traps else f"{100 * (times[end] / best - 1):.1f} % from the best"
    return (
        f"| {name} | {len(times)} | {best:.1f} us | {np.median(times) / best:.2f}x "
        f"| {(times <= FAR_FROM_BEST * best).mean():.0%} | {len(land.traps)} | {worst} "
        f"| {land.trapped:.0%} | {home} |"
    )


def main(given: Sequence[str]) -> int:
    try:
        print(*HEAD, sep="\n")
        for name in given or sorted(bundled()):
            source = find_task(name)
            if not source.recordings:
                raise InputError(f"task {name} has no recording")
            print(row(source.task.name, Landscape.of(load_recording(source.recordings[-1]))))
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", nargs="*", help="a task or a T4 file; default: all bundled")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(_options().task))
