"""Judge the corpus and say which verdicts are right.

python -m experiments.benchmarks.corpus
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.benchmarks.corpus import tables
from experiments.benchmarks.corpus.cases import DIALECTS, CorpusCase, cases, chosen
from experiments.benchmarks.corpus.judges import DEFAULT, LONG_BUILDS, SHORT, Deadlines, gpu_judges
from experiments.benchmarks.corpus.results import as_json, merged
from experiments.benchmarks.corpus.running import CorpusRun, Factory, planted_secrets, run
from experiments.benchmarks.corpus.stress import run_stress
from experiments.runs.machines.machine import gpu_problem
from experiments.runs.wiring.gpus import devices_of
from mcts.errors import InputError, RooftreeError
from mcts.files import write_whole

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None, *, factory: Factory | None = None) -> int:
    """0 if every verdict is right, 1 if one is not or cases are left out, 2 if nothing
    could be judged, 130 if it was interrupted."""
    options = _parser().parse_args(arguments)
    try:
        code = _main(options, factory)
        sys.stdout.flush()
        return code
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        kept = f"; {options.json} has what was judged before" if options.json else ""
        print(f"interrupted{kept}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read has seen enough. What is still buffered must not be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _main(options: argparse.Namespace, factory: Factory | None) -> int:
    if options.merge:
        return _tell(merged(options.merge, cases()), options)
    every = chosen(
        cases(),
        dialect=options.dialect,
        only=tuple(options.only),
        kind=options.kind,
        slow=not options.no_slow,
    )
    if not every:
        raise InputError("nothing is left to judge: no case is all that was asked for")
    if options.list:
        for one in every:
            print(f"{one.name}  {one.task}  {one.kind}  {', '.join(one.expect)}")
        return 0
    factories = [factory] if factory is not None else _judges(every, options)
    with planted_secrets():
        if options.hostile:
            return _stress(every, factories[0], options)
        found = run(
            every,
            *factories,
            on_progress=_say,
            keep=lambda found: _write_json(options.json, as_json(found)),
            is_overdue=_alarm(options.deadline),
        )
    return _tell(found, options)


def _judges(every: Sequence[CorpusCase], options: argparse.Namespace) -> list[Factory]:
    """One for each GPU that is asked for."""
    devices = devices_of(options.devices) if options.devices else [options.device]
    if options.hostile and len(devices) > 1:
        raise InputError("--hostile judges in a row: name one GPU with --device")
    for device in devices:
        _check_machine(every, device)
    return [gpu_judges(device=each, deadlines=_deadlines(options), say=_say) for each in devices]


def _check_machine(every: Sequence[CorpusCase], device: int) -> None:
    """InputError if this machine cannot judge a dialect that is asked for."""
    for dialect in sorted({one.dialect for one in every}):
        if problem := gpu_problem(device, torch=dialect.in_pytorch):
            raise InputError(f"cases of dialect {dialect} cannot be judged here: {problem}")


def _deadlines(options: argparse.Namespace) -> Deadlines:
    if options.hostile:
        return SHORT
    return DEFAULT if options.no_slow else LONG_BUILDS


def _alarm(minutes: float | None) -> Callable[[], bool]:
    """Whether so many minutes have passed since now."""
    end = math.inf if minutes is None else time.monotonic() + 60 * minutes
    return lambda: time.monotonic() >= end


def _stress(every: tuple[CorpusCase, ...], factory: Factory, options: argparse.Namespace) -> int:
    hostile = run_stress(
        every,
        factory,
        count=options.hostile,
        device=options.device,
        on_progress=_say,
        is_overdue=_alarm(options.deadline),
    )
    _write_json(options.json, hostile.to_json())
    _write(options.markdown, tables.stress_markdown(hostile, command=_command(options)))
    print(tables.stress_text(hostile))
    return int(bool(hostile.wrong or hostile.left))


def _tell(found: CorpusRun, options: argparse.Namespace) -> int:
    _write_json(options.json, as_json(found))
    _write(options.markdown, tables.as_markdown(found, command=_command(options)))
    print(tables.as_text(found))
    return int(bool(found.wrong or found.left))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.corpus",
        description="Judge candidates that cheat, break or only look strange.",
    )
    parser.add_argument("--dialect", default="all", choices=[*DIALECTS, "all"])
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="cases by name")
    parser.add_argument("--class", dest="kind", metavar="CLASS", help="of one class only")
    parser.add_argument("--no-slow", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--list", action="store_true", help="say which cases, judge none")
    parser.add_argument("--device", type=int, default=0, help="number of the GPU")
    parser.add_argument("--devices", metavar="LIST", help="several GPUs instead: 0,1 or all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every result here")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables here")
    parser.add_argument(
        "--hostile", type=int, metavar="N", help="judge N hostile candidates in a row instead"
    )
    parser.add_argument(
        "--deadline", type=float, metavar="MINUTES", help="begin no other case after so long"
    )
    parser.add_argument(
        "--merge", nargs="+", type=Path, default=[], metavar="FILE",
        help="judge nothing: the tables of these --json files together",
    )  # fmt: skip
    return parser


def _command(options: argparse.Namespace) -> str:
    """The command whose output this is, without where it was written to."""
    words = ["python", "-m", "experiments.benchmarks.corpus"]
    if options.dialect != "all":
        words += ["--dialect", options.dialect]
    if options.kind:
        words += ["--class", options.kind]
    if options.only:
        words += ["--only", *options.only]
    if options.no_slow:
        words.append("--no-slow")
    if options.hostile:
        words += ["--hostile", str(options.hostile)]
    if options.merge:
        words += ["--merge", *(path.name for path in options.merge)]
    return shlex.join(words)


def _write_json(path: Path | None, table: dict[str, Any]) -> None:
    _write(path, json.dumps(table, indent=1))


def _write(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        write_whole(path, text.rstrip() + "\n")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
