"""What a verdict takes: the first of each candidate, one more of the first, the model's own.

python -m experiments.benchmarks.evidence.verdict_times PROBLEM CANDIDATE... [--own N] [--pause S]
    [--steps]

Before each there is a pause, as a language model takes time to answer. The time of the second
verdict on a candidate is that of one whose build is there already. The
model's own speedup, N times, says how wide intervals are and whether they hold 1. With `--steps`
each verdict is followed by what its processes were asked, and how long the answers took. Some are
waited for side by side, so that the sum may be more than the verdict took.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path
from typing import Any, Self

from experiments.app.candidates import candidates_of
from experiments.app.messages import say
from experiments.runs.tasks.files import find_task
from experiments.runs.wiring.composing import choose_evaluator
from mcts.domain import Candidate
from mcts.errors import RooftreeError
from mcts.options import JudgingOptions
from mcts.ports import Evaluator
from profilers.kernelbench.judge.clients import BaselineClient, OracleClient, WorkerClient

_LEAST_S = 0.02


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each verdict; the exit code of an error."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("problem", help="a KernelBench problem file, or another task")
    parser.add_argument("candidates", nargs="+", type=Path)
    parser.add_argument("--own", type=int, default=0, help="verdicts on the model itself")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds before each verdict")
    parser.add_argument("--steps", action="store_true", help="what the time went to")
    options = parser.parse_args(arguments)
    try:
        with Steps() if options.steps else nullcontext() as steps:
            _tell(options, steps)
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


class Steps:
    """Seconds that the judge waits for its processes within the block, by process and request."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._asked: Counter[str] = Counter()
        self._held = ExitStack()

    def __enter__(self) -> Self:
        for kind, who in ((OracleClient, "reference"), (WorkerClient, "worker")):
            self._time(kind, "ask", lambda op, who=who: f"{who}: {op}")
        self._time(WorkerClient, "start", lambda *_: "worker: start")
        self._time(BaselineClient, "ask", lambda op: f"baseline: {op}")
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def _time(self, kind: Any, method: str, label: Callable[..., str]) -> None:
        original = getattr(kind, method)

        def timed(client: Any, *given: Any, **named: Any) -> Any:
            begin = time.perf_counter()
            try:
                return original(client, *given, **named)
            finally:
                self._seconds[label(*given)] += time.perf_counter() - begin
                self._asked[label(*given)] += 1

        setattr(kind, method, timed)
        self._held.callback(setattr, kind, method, original)

    def lines(self) -> list[str]:
        """The longest first, and none that took no time; then all begins at zero again."""
        # A baseline is asked through its worker, which is counted as well.
        for label, seconds in list(self._seconds.items()):
            if label.startswith("baseline: "):
                inner = label.replace("baseline", "worker")
                self._seconds[inner] -= seconds
                self._asked[inner] -= self._asked[label]
        found = [
            f"         {seconds:6.2f} s  {label}, {self._asked[label]} times"
            for label, seconds in sorted(self._seconds.items(), key=lambda item: -item[1])
            if seconds >= _LEAST_S
        ]
        self._seconds.clear()
        self._asked.clear()
        return found


def _tell(options: argparse.Namespace, steps: Steps | None) -> None:
    source = find_task(options.problem)
    named = candidates_of(source.task, options.candidates, [])
    named += [(f"{named[0][0]} again", named[0][1])]
    named += [("the model itself", source.task.baseline)] * options.own
    begin = time.perf_counter()
    with closing(choose_evaluator(source, JudgingOptions(evaluator="gpu"), on_progress=say)) as gpu:
        print(f"{source.task.name} on {gpu.hardware}: open in {time.perf_counter() - begin:.2f} s")
        _print(steps)
        for label, candidate in named:
            time.sleep(options.pause)
            _verdict(gpu, Path(label).name, candidate, steps)


def _verdict(evaluator: Evaluator, label: str, candidate: Candidate, steps: Steps | None) -> None:
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
    _print(steps)


def _print(steps: Steps | None) -> None:
    for line in steps.lines() if steps else ():
        print(line)


if __name__ == "__main__":
    sys.exit(main())
