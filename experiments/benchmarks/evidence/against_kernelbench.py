"""How long does a verdict take?

    python -m experiments.benchmarks.evidence.against_kernelbench --root CHECKOUT

Gives the same candidates to KernelBench's own evaluator (a checkout of its repository) and to
ours, in one run on one GPU, and prints a Markdown table of wall-clock seconds and verdicts.

KernelBench evaluates in a fresh process, as a user starts it, with the trials that its scripts
use: once with an empty build folder, once with the filled one. Its start also imports its clients
of language models, so the seconds of the start are listed separately. Ours is asked cold, with the
start of the evaluator; then for the same candidate with a comment added, which is what one step of
a search costs; then for the first candidate again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from codegen.self_contained import self_contained
from experiments.benchmarks.evidence.kernelbench_checkout import Checkout
from experiments.runs.machines.machine import gpu_problem
from experiments.runs.tasks.files import find_task, read_text
from experiments.runs.wiring.parts import gpu_evaluator
from mcts.domain import Candidate, Evaluation
from mcts.errors import InputError, RooftreeError
from mcts.options import JudgingOptions
from mcts.requests import EvaluatorRequest

KERNELS = Path(__file__).parents[1] / "kernels_for_comparison"
CANDIDATES = {
    "level1/26": ("gelu_load_inline.py", "gelu_nvrtc.py"),
    "level1/66": ("conv3d_dedicated_stream.py",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictTime:
    """One verdict: its judge, the judge's state (cold or warm), and the wall-clock seconds.

    `steps` names what the time went to, with the seconds of each.
    """

    candidate: str
    judge: str
    state: str
    seconds: float
    verdict: str
    speedup: float | None
    steps: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        speedup = "" if self.speedup is None else f"{self.speedup:.2f}x"
        return (
            f"| {self.candidate} | {self.judge} | {self.state} | {self.seconds:.1f} "
            f"| {self.verdict} | {speedup} |"
        )


class Stopwatch:
    """Measures the seconds between lines of progress, each under the text of its line."""

    def __init__(self) -> None:
        self._marks: list[tuple[str, float]] = []
        self.reset()

    def reset(self, first: str = "start") -> None:
        self._marks = [(first, time.perf_counter())]

    def __call__(self, text: str) -> None:
        self._marks.append((text, time.perf_counter()))

    def steps(self) -> tuple[tuple[str, float], ...]:
        """The texts so far, each with the seconds until the next one, or until now."""
        ends = [*(at for _, at in self._marks[1:]), time.perf_counter()]
        return tuple((text, end - at) for (text, at), end in zip(self._marks, ends, strict=True))


def by_kernelbench(
    checkout: Checkout, reference: str, source: str, *, name: str, device: int, cold: bool = False
) -> Iterator[VerdictTime]:
    """KernelBench's verdicts, each from a fresh process: without a build, then with the build kept.

    With `cold`, only the first.
    """
    with tempfile.TemporaryDirectory(prefix="kernelbench-") as builds:
        for state in ("cold",) if cold else ("cold", "again, build kept"):
            begin = time.perf_counter()
            verdict = checkout.judge(reference, source, builds=Path(builds), device=device)
            seconds = time.perf_counter() - begin
            yield VerdictTime(
                candidate=name,
                judge="KernelBench",
                state=state,
                seconds=seconds,
                verdict=verdict.verdict,
                speedup=verdict.speedup,
                steps=(
                    ("starting and importing", seconds - verdict.seconds),
                    ("evaluating", verdict.seconds),
                ),
            )


def by_us(
    problem: Path, source: str, *, name: str, device: int, unsafe: bool
) -> Iterator[VerdictTime]:
    """Our verdicts: with the evaluator's start, on a new candidate, on one judged before."""
    watch = Stopwatch()
    request = EvaluatorRequest(
        task=find_task(str(problem)).task,
        judging=JudgingOptions(device=device, unsafe=unsafe),
        on_progress=watch,
    )
    asked = (
        ("cold", Candidate(source=source)),
        ("warm, new candidate", Candidate(source=f"{source}\n# the same again\n")),
        ("warm, judged before", Candidate(source=source)),
    )
    begin = time.perf_counter()
    with closing(gpu_evaluator(request)) as judge:
        for state, candidate in asked:
            watch("judging the candidate")
            found = judge.evaluate(candidate)
            yield _timed_verdict(name, state, time.perf_counter() - begin, found, watch)
            watch.reset()
            begin = time.perf_counter()


def _timed_verdict(
    name: str, state: str, seconds: float, found: Evaluation, watch: Stopwatch
) -> VerdictTime:
    steps = [(text, spent) for text, spent in watch.steps() if spent >= 0.005]
    if found.build is not None and found.build.seconds is not None:
        steps.append(("of it, building the candidate", found.build.seconds))
    return VerdictTime(
        candidate=name,
        judge="Rooftree",
        state=state,
        seconds=seconds,
        verdict=found.status + (f": {_short(found.message)}" if found.message else ""),
        speedup=found.timing.speedup if found.timing else None,
        steps=tuple(steps),
    )


def _short(text: str, most: int = 160) -> str:
    line = " ".join(text.split()).replace("|", "/")
    return line if len(line) <= most else f"{line[: most - 3]}..."


def _compare(options: argparse.Namespace) -> None:
    checkout = Checkout(options.root.resolve())
    checkout.check()
    if problem := gpu_problem(options.device, torch=True):
        raise InputError(f"this comparison needs a GPU: {problem}")
    rows: list[VerdictTime] = []
    for problem in options.problem or list(CANDIDATES):
        file = checkout.problem(problem)
        files = options.candidate or [KERNELS / name for name in CANDIDATES.get(problem, ())]
        if not files:
            raise InputError(f"there is no candidate for {problem} here: give --candidate FILE")
        for path in files:
            source, name = self_contained(read_text(path)), f"{problem} {path.stem}"
            theirs = by_kernelbench(
                checkout,
                read_text(file),
                source,
                name=name,
                device=options.device,
                cold=options.cold,
            )
            ours = by_us(file, source, name=name, device=options.device, unsafe=options.unsafe)
            for row in chain(theirs, ours):
                print(row, file=sys.stderr, flush=True)
                rows.append(row)
    print(report(rows))


def report(rows: list[VerdictTime]) -> str:
    """The Markdown table, and below it how the seconds of each row were spent."""
    table = [
        "| candidate | judge | state | seconds | verdict | speedup |",
        "| --- | --- | --- | ---: | --- | ---: |",
        *map(str, rows),
    ]
    details = ["Where the time went, in seconds:", ""]
    for row in rows:
        spent = "; ".join(f"{text} {seconds:.2f}" for text, seconds in row.steps)
        details.append(f"- {row.candidate}, {row.judge}, {row.state}: {spent or 'one step'}")
    return "\n".join([*table, "", *details])


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.evidence.against_kernelbench"
    )
    parser.add_argument(
        "--root", type=Path, required=True, help="a checkout of KernelBench's repository"
    )
    parser.add_argument("--problem", action="append", help="such as level1/26; may be repeated")
    parser.add_argument("--candidate", action="append", type=Path, metavar="FILE")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument(
        "--cold", action="store_true", help="ask KernelBench only with an empty build folder"
    )
    parser.add_argument("--unsafe", action="store_true", help="judge where nothing isolates")
    options = parser.parse_args()
    try:
        _compare(options)
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
