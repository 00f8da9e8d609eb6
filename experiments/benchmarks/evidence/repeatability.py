"""Do the intervals mean what they say?

    python -m experiments.benchmarks.evidence.repeatability --task TASK

Answers two questions about an evaluator. If it judges the baseline as a candidate many times, how
many of the 95 % intervals of its speedup contain 1.0, and how wide are they? And if several
evaluators, each with processes of its own, judge one candidate in turn, how far apart are its
speedups?
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.runs.tasks.files import TaskSource, find_task, read_text
from experiments.runs.wiring.choosing import REPLAY, resolve_evaluator
from experiments.runs.wiring.composing import choose_evaluator
from mcts.domain import Candidate, KernelTask, Timing
from mcts.errors import InputError, RooftreeError
from mcts.options import JudgingOptions
from mcts.ports import Evaluator

Open = Callable[[int], AbstractContextManager[Evaluator]]
"""Opens an evaluator; the number is added to its seed, if it has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """A against A: `share` of the intervals contain 1.0; `low` to `high` is the share's interval.

    `median_width` is the median of high minus low, `median_speedup` that of the speedups. `failed`
    counts evaluations without a timing, which no other number includes.
    """

    replications: int
    held: int
    share: float
    low: float
    high: float
    median_width: float
    median_speedup: float
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSpread:
    """One candidate's speedups from fresh processes; `spread` is the greatest over the least - 1.

    `overlap`: some speedup lies in all of the intervals.
    """

    speedups: tuple[float, ...]
    spread: float
    median_width: float
    overlap: bool
    failed: int


def coverage(open_: Open, candidate: Candidate, *, replications: int, reopen: bool) -> Coverage:
    """Judge `candidate`, which should be the baseline, `replications` times.

    `reopen` opens an evaluator for each, which a replay needs: it answers a repeated question with
    the same numbers. InputError if no evaluation is measured.
    """
    if reopen:
        found = _counted(lambda number: _judged_once(open_, candidate, number), replications)
    else:
        with open_(0) as evaluator:
            found = _counted(lambda _number: _timing(evaluator, candidate), replications)
    timings = _measured(found)
    held = sum(timing.speedup_low <= 1.0 <= timing.speedup_high for timing in timings)
    low, high = wilson_interval(held, len(timings))
    return Coverage(
        replications=len(timings),
        held=held,
        share=held / len(timings),
        low=low,
        high=high,
        median_width=statistics.median(map(_width, timings)),
        median_speedup=statistics.median(timing.speedup for timing in timings),
        failed=len(found) - len(timings),
    )


def spread(
    open_: Open, candidate: Candidate, *, processes: int, confirm: bool = False
) -> ProcessSpread:
    """Judge `candidate` in `processes` evaluators in turn; with `confirm`, confirm it so often.

    InputError if no evaluation is measured, or if the evaluator cannot confirm.
    """
    if confirm:
        with open_(0) as evaluator:
            found = _confirmations(evaluator, candidate, processes)
    else:
        found = _counted(lambda number: _judged_once(open_, candidate, number), processes)
    timings = _measured(found)
    speedups = tuple(timing.speedup for timing in timings)
    return ProcessSpread(
        speedups=speedups,
        spread=max(speedups) / min(speedups) - 1,
        median_width=statistics.median(map(_width, timings)),
        overlap=max(t.speedup_low for t in timings) <= min(t.speedup_high for t in timings),
        failed=len(found) - len(timings),
    )


def wilson_interval(held: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson, JASA 22, 1927), which stays within 0 and 1."""
    z = statistics.NormalDist().inv_cdf(0.975)
    share, scale = held / count, 1 + z * z / count
    middle = (share + z * z / (2 * count)) / scale
    reach = z / scale * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def _counted(ask: Callable[[int], Timing | str], count: int) -> list[Timing | str]:
    """The answers of `count` calls, with progress on standard error; fewer if interrupted."""
    found: list[Timing | str] = []
    try:
        for number in range(count):
            found.append(ask(number))
            if len(found) % 10 == 0:
                print(f"{len(found)} of {count}", file=sys.stderr)
    except KeyboardInterrupt:
        print(f"interrupted after {len(found)} of {count}", file=sys.stderr)
        if not found:
            raise
    return found


def _judged_once(open_: Open, candidate: Candidate, number: int) -> Timing | str:
    with open_(number) as evaluator:
        return _timing(evaluator, candidate)


def _timing(evaluator: Evaluator, candidate: Candidate) -> Timing | str:
    """The timing of a measured candidate, or why there is none."""
    found = evaluator.evaluate(candidate)
    if found.measured and found.timing:
        return found.timing
    reason = f"{found.status}: {found.message}"
    print(reason, file=sys.stderr)
    return reason


def _confirmations(evaluator: Evaluator, candidate: Candidate, count: int) -> list[Timing | str]:
    if not evaluator.can_confirm:
        raise InputError(f"evaluator {evaluator.name} confirms nothing: leave out --confirm")
    first = evaluator.evaluate(candidate)
    again = [evaluator.confirm(candidate, first) for _ in range(count)]
    return [
        found.timing if found.measured and found.timing else f"{found.status}: {found.message}"
        for found in again
    ]


def _measured(found: list[Timing | str]) -> list[Timing]:
    timings = [item for item in found if isinstance(item, Timing)]
    if not timings:
        raise InputError(f"no evaluation was measured; the first: {found[0]}")
    return timings


def _width(timing: Timing) -> float:
    return timing.speedup_high - timing.speedup_low


def report(task: str, evaluator: str, found: dict[str, Coverage | ProcessSpread]) -> str:
    """The answers as a Markdown table."""
    lines = [f"task {task}, evaluator {evaluator}", "", "| question | answer |", "| --- | --- |"]
    for name, item in found.items():
        lines += _coverage_rows(item) if isinstance(item, Coverage) else _spread_rows(name, item)
        if item.failed:
            lines.append(f"| {name}: evaluations without a timing | {item.failed} |")
    return "\n".join(lines)


def _coverage_rows(item: Coverage) -> list[str]:
    return [
        f"| baseline against itself: intervals that hold 1.0 | {item.held} of {item.replications} "
        f"({item.share:.1%}; {item.low:.1%} to {item.high:.1%}) |",
        f"| baseline against itself: median width | {item.median_width:.4f} |",
        f"| baseline against itself: median speedup | {item.median_speedup:.4f} |",
    ]


def _spread_rows(name: str, item: ProcessSpread) -> list[str]:
    return [
        f"| {name}, fresh processes: speedups | {len(item.speedups)} from "
        f"{min(item.speedups):.4f} to {max(item.speedups):.4f} |",
        f"| {name}, fresh processes: max/min - 1 | {item.spread:.2%} |",
        f"| {name}, fresh processes: median width | {item.median_width:.4f} |",
        f"| {name}, fresh processes: all intervals overlap | {'yes' if item.overlap else 'no'} |",
    ]


def read_candidate(task: KernelTask, path: Path | None) -> Candidate:
    """The candidate in a file, with its plan's defaults; the baseline if no file is given."""
    if path is None:
        return task.baseline
    source = read_text(path)
    space = task.dialect_of(source).space_of(source)
    return Candidate(source=source, tunables=space.default() if space is not None else {})


def _opener(source: TaskSource, options: argparse.Namespace) -> Open:
    judging = JudgingOptions(
        evaluator=options.evaluator,
        recording=options.recording,
        device=options.device,
        unsafe=options.unsafe,
        ungated=options.ungated,
    )

    def open_(number: int) -> AbstractContextManager[Evaluator]:
        return closing(
            choose_evaluator(
                source,
                judging,
                seed=options.seed + number,
                on_progress=lambda text: print(text, file=sys.stderr),
            )
        )

    return open_


def _answers(options: argparse.Namespace) -> tuple[str, str, dict[str, Coverage | ProcessSpread]]:
    source = find_task(options.task)
    evaluator = resolve_evaluator(
        source, options.evaluator, options.recording, device=options.device
    )
    open_ = _opener(source, options)
    found: dict[str, Coverage | ProcessSpread] = {}
    if options.replications:
        found["coverage"] = coverage(
            open_,
            source.task.baseline,
            replications=options.replications,
            reopen=evaluator == REPLAY,
        )
    if options.processes and not options.same:
        candidate = read_candidate(source.task, options.candidate)
        name = options.candidate.name if options.candidate else "baseline"
        found[name] = spread(open_, candidate, processes=options.processes, confirm=options.confirm)
    if not found:
        raise InputError("nothing to do: give --replications or --processes above zero")
    return source.task.name, evaluator, found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.benchmarks.evidence.repeatability")
    parser.add_argument("--task", required=True, help="a task, or a KernelBench problem file")
    parser.add_argument("--candidate", type=Path, metavar="FILE", help="default: the baseline")
    parser.add_argument("--replications", type=int, default=100, help="A against A; 0 for none")
    parser.add_argument("--processes", type=int, default=10, help="fresh evaluators; 0 for none")
    parser.add_argument("--same", action="store_true", help="only A against A")
    parser.add_argument("--confirm", action="store_true", help="confirm instead of new evaluators")
    parser.add_argument("--evaluator", default="auto")
    parser.add_argument("--recording", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--ungated", action="store_true")
    parser.add_argument("--unsafe", action="store_true")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args(arguments)
    try:
        task, evaluator, found = _answers(options)
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if options.json:
        answers: dict[str, Any] = {name: asdict(item) for name, item in found.items()}
        print(json.dumps({"task": task, "evaluator": evaluator, **answers}, indent=2))
    else:
        print(report(task, evaluator, found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
