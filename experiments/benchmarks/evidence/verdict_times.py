"""What a verdict takes: the first of each candidate, one more of the first, the model's own.

python -m experiments.benchmarks.evidence.verdict_times PROBLEM CANDIDATE... [--own N]

The time of the second verdict on a candidate is that of one whose build is there already. The
model's own speedup, N times, says how wide intervals are and whether they hold 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import closing
from pathlib import Path

from experiments.app.candidates import candidates_of
from experiments.app.messages import say
from experiments.runs.tasks.files import find_task
from experiments.runs.wiring.composing import choose_evaluator
from mcts.domain import Candidate
from mcts.errors import RooftreeError
from mcts.options import JudgingOptions
from mcts.ports import Evaluator


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each verdict; the exit code of an error."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("problem", help="a KernelBench problem file, or another task")
    parser.add_argument("candidates", nargs="+", type=Path)
    parser.add_argument("--own", type=int, default=0, help="verdicts on the model itself")
    options = parser.parse_args(arguments)
    try:
        _tell(options.problem, options.candidates, options.own)
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _tell(problem: str, files: list[Path], own: int) -> None:
    source = find_task(problem)
    named = candidates_of(source.task, files, [])
    begin = time.perf_counter()
    with closing(choose_evaluator(source, JudgingOptions(evaluator="gpu"), on_progress=say)) as gpu:
        print(f"{source.task.name} on {gpu.hardware}: open in {time.perf_counter() - begin:.2f} s")
        for label, candidate in named:
            _verdict(gpu, Path(label).name, candidate)
        _verdict(gpu, f"{Path(named[0][0]).name} again", named[0][1])
        for _ in range(own):
            _verdict(gpu, "the model itself", source.task.baseline)


def _verdict(evaluator: Evaluator, label: str, candidate: Candidate) -> None:
    begin = time.perf_counter()
    found = evaluator.evaluate(candidate)
    took = time.perf_counter() - begin
    timing = found.timing
    speedup = (
        f", {timing.speedup:.4f}x ({timing.speedup_low:.4f} to {timing.speedup_high:.4f})"
        if timing
        else ""
    )
    print(f"{took:6.2f} s  {label}: {found.status}{speedup}")


if __name__ == "__main__":
    sys.exit(main())
