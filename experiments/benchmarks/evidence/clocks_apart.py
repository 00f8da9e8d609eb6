"""How far apart are the judge's two clocks, from one timing of a corpus case to the next?

python -m experiments.benchmarks.evidence.clocks_apart CASE --out FILE [--device N] [--minutes M]
python -m experiments.benchmarks.evidence.clocks_apart --show FILE...

Judges the case over and over on one GPU and keeps what each timing and each verdict says, one JSON
object a line. A verdict may take several timings: what is suspect is timed once more.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from experiments.benchmarks.corpus.__main__ import INTERRUPTED
from experiments.benchmarks.corpus.cases import CorpusCase, cases, chosen
from experiments.benchmarks.corpus.judges import DEFAULT, LONG_BUILDS, gpu_judges
from experiments.benchmarks.corpus.running import (
    Factory,
    grouped,
    judge,
    line,
    missing,
    opened,
    planted_secrets,
)
from experiments.runs.machines.machine import gpu_problem
from mcts.errors import InputError, RooftreeError
from profilers.kernelbench.judge.evaluations import without_disturbed_block
from profilers.kernelbench.judge.outside_clock import OutsideClock
from profilers.kernelbench.judge.settings import KernelBenchSettings
from profilers.kernelbench.judge.timing import BlockTimes, PairedTimer

Entry = dict[str, Any]
_TIMING = frozenset({"case", "claimed_us", "outside_us", "disagreement", "may_only_wait"})
_VERDICT = frozenset({"case", "verdict", "wrong", "seconds"})


def main(arguments: Sequence[str] | None = None, *, factory: Factory | None = None) -> int:
    """0 if every verdict is right, 1 if one is not, 130 if interrupted; 2 for bad input or where
    there is no GPU."""
    options = _parser().parse_args(arguments)
    try:
        if options.show:
            entries = [entry for path in options.show for entry in read(path)]
        else:
            entries = _judge(options, factory)
        print(summary(entries))
        return int(any(entry.get("wrong") for entry in entries))
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; what was judged before is kept", file=sys.stderr)
        return INTERRUPTED


def read(path: Path) -> list[Entry]:
    """The lines of a kept file. InputError if it has none, or others."""
    try:
        entries = [json.loads(each) for each in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    if not entries or not all(isinstance(each, dict) and _is_kept(each) for each in entries):
        raise InputError(f"{path} holds no timings of the judge")
    return entries


def summary(entries: Sequence[Entry]) -> str:
    """Timings, how far apart their clocks are, and the verdicts."""
    timed = [entry for entry in entries if entry.keys() >= _TIMING]
    judged = [entry for entry in entries if entry.keys() >= _VERDICT]
    lines = [f"{len(timed)} timings, {len(judged)} verdicts"]
    if timed:
        apart = [entry["outside_us"] - entry["claimed_us"] for entry in timed]
        disagree = sum(entry["disagreement"] is not None for entry in timed)
        lines += [
            f"clocks disagree in {disagree}, and in {sum(e['may_only_wait'] for e in timed)} more "
            "unless waiting is allowed for",
            f"further by the judge's clock: {statistics.median(apart):.0f} us "
            f"({min(apart):.0f} to {max(apart):.0f})",
        ]
    if judged:
        counted = Counter(entry["verdict"] or "no verdict" for entry in judged)
        seconds = [entry["seconds"] for entry in judged]
        lines += [
            ", ".join(f"{count} {verdict}" for verdict, count in counted.most_common()),
            f"{statistics.median(seconds):.1f} s a verdict ({max(seconds):.1f} at most)",
        ]
    return "\n".join(lines)


def _judge(options: argparse.Namespace, factory: Factory | None) -> list[Entry]:
    """The lines that are added to the file. InputError if it is about something else."""
    if options.case is None or options.out is None:
        raise InputError("name a case and --out FILE, or --show files that are there")
    case = _case(options.case)
    _check_file(options.out, case)
    if factory is None:
        if problem := gpu_problem(options.device, torch=True):
            raise InputError(f"{case.name} cannot be judged here: {problem}")
        deadlines = LONG_BUILDS if case.slow else DEFAULT
        factory = gpu_judges(device=options.device, deadlines=deadlines, say=_say)
    found: list[Entry] = []

    def keep(entry: Entry) -> None:
        found.append({"case": case.name, **entry})
        try:
            with options.out.open("a", encoding="utf-8") as out:
                print(json.dumps(found[-1]), file=out)
        except OSError as error:
            raise InputError(f"cannot write {options.out}: {error.strerror}") from None

    with planted_secrets():
        _judge_again_and_again(case, factory, keep, seconds=60 * options.minutes)
    return found


def _case(name: str) -> CorpusCase:
    found = chosen(cases(), dialect="kernelbench", only=(name,))
    if not found:
        raise InputError(f"{name} is not of dialect kernelbench: name one that is")
    if absent := missing(found[0].needs):
        raise InputError(f"{name} needs {', '.join(absent)}")
    return found[0]


def _check_file(path: Path, case: CorpusCase) -> None:
    """InputError unless lines about the case can be added to the file."""
    if path.exists() and any(entry["case"] != case.name for entry in read(path)):
        raise InputError(f"{path} is about another case: name another file")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.parent}")


def _judge_again_and_again(
    case: CorpusCase, factory: Factory, keep: Callable[[Entry], None], *, seconds: float
) -> None:
    """Until so many seconds have passed, or there is no verdict, as of a judge that broke."""
    (group,) = grouped([case])
    # Opening times the problem's own model, which is no timing of the case.
    with opened(factory, group.task) as evaluator, _timings_kept(keep):
        end = time.monotonic() + seconds
        while True:
            found = judge(evaluator, case)
            _say(line(found))
            keep(
                {
                    "verdict": found.verdict,
                    "wrong": found.wrong,
                    "speedup": found.speedup,
                    "seconds": round(found.seconds, 2),
                }
            )
            if found.verdict is None or time.monotonic() >= end:
                return


@contextmanager
def _timings_kept(keep: Callable[[Entry], None]) -> Iterator[None]:
    """Keeps what each timing says within the block; the evaluator answers with the verdict only."""
    original = PairedTimer.time
    clock = OutsideClock(slack_us=KernelBenchSettings().clock_slack_us)

    def timed(self: PairedTimer) -> BlockTimes:
        times = original(self)
        keep(_timing(without_disturbed_block(times, clock), clock))
        return times

    PairedTimer.time = timed  # type: ignore[method-assign]
    try:
        yield
    finally:
        PairedTimer.time = original  # type: ignore[method-assign]


def _timing(times: BlockTimes, clock: OutsideClock) -> Entry:
    """What both clocks say of a timing, in microseconds a call."""
    blocks = times.blocks
    return {
        "claimed_us": round(clock.claimed_us(blocks), 2),
        "outside_us": round(clock.call_us(blocks), 2),
        "blocks": len(blocks),
        "disagreement": clock.disagreement(blocks),
        "may_only_wait": clock.may_only_wait(blocks),
    }


def _is_kept(entry: Entry) -> bool:
    return entry.keys() >= _TIMING or entry.keys() >= _VERDICT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("case", nargs="?", help="a case of the corpus, of dialect kernelbench")
    parser.add_argument("--out", type=Path, metavar="FILE", help="lines are added to it")
    parser.add_argument("--device", type=int, default=0, help="number of the GPU")
    parser.add_argument("--minutes", type=float, default=2.0, help="once the judge is ready")
    parser.add_argument(
        "--show",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="judge nothing: what is kept",
    )
    return parser


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
