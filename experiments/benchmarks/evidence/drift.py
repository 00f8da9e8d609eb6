"""Does a recording still describe this machine?

    python -m experiments.benchmarks.evidence.drift TASK...

Measures an even choice of a task's recorded variants again, live, and compares each time with the
recorded one: this tells how far a replay can be trusted.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from contextlib import closing
from dataclasses import dataclass

from experiments.runs.tasks.files import TaskSource, find_task
from experiments.runs.wiring.parts import gpu_evaluator
from mcts.domain import Candidate
from mcts.errors import InputError, RooftreeError
from mcts.options import JudgingOptions
from mcts.requests import EvaluatorRequest
from profilers.recordings.t4 import RecordedConfiguration, load_recording


@dataclass(frozen=True, slots=True)
class RemeasuredVariant:
    """One variant's recorded and live median time in microseconds; live is None if it failed."""

    variant: RecordedConfiguration
    recorded_us: float
    live_us: float | None

    @property
    def difference(self) -> float | None:
        """Live over recorded time, less one."""
        return None if self.live_us is None else self.live_us / self.recorded_us - 1


def compare(source: TaskSource, *, variants: int, device: int = 0) -> list[RemeasuredVariant]:
    """Measure `variants` recorded variants again, spread evenly from the fastest to the slowest.

    Raises InputError if the task has no recording or there is no GPU.
    """
    if not source.recordings:
        raise InputError(f"task {source.task.name!r} has no recording to compare with")
    recording = load_recording(source.recordings[-1])
    measured = sorted(
        (entry for entry in recording.configurations if entry.time_us is not None),
        key=lambda entry: entry.time_us or 0.0,
    )
    step = max(1, (len(measured) - 1) // max(1, variants - 1))
    chosen = measured[::step][:variants]
    request = EvaluatorRequest(
        task=source.task, judging=JudgingOptions(device=device), on_progress=_say
    )
    pairs = []
    with closing(gpu_evaluator(request)) as judge:
        for entry in chosen:
            candidate = Candidate(
                source=source.task.baseline.source, tunables=dict(entry.configuration)
            )
            timing = judge.evaluate(candidate).timing
            pairs.append(
                RemeasuredVariant(entry, entry.time_us or 0.0, timing.median_us if timing else None)
            )
    return pairs


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.evidence.drift", description=__doc__
    )
    parser.add_argument("tasks", nargs="+", metavar="TASK")
    parser.add_argument("--variants", type=int, default=20)
    parser.add_argument("--device", type=int, default=0)
    options = parser.parse_args()
    try:
        for name in options.tasks:
            pairs = compare(find_task(name), variants=options.variants, device=options.device)
            differences = [pair.difference for pair in pairs if pair.difference is not None]
            if not differences:
                raise InputError(f"none of the {len(pairs)} variants of {name} ran here")
            absolute = [abs(difference) for difference in differences]
            print(
                f"{name}: {len(differences)} of {len(pairs)} variants measured again; |live / "
                f"recorded - 1| median {statistics.median(absolute):.2%}, most {max(absolute):.2%};"
                f" signed median {statistics.median(differences):+.2%}"
            )
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
