"""``python -m experiments.corpus``: judge the corpus and say which verdicts are right."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.corpus import canaries, tables
from experiments.corpus.exhibits import DIALECTS, chosen, exhibits
from experiments.corpus.hostile import run_hostile
from experiments.corpus.judges import gpu_judges
from experiments.corpus.study import Factory, run
from mcts.errors import InputError, RooftreeError


def main(arguments: Sequence[str] | None = None, *, factory: Factory | None = None) -> int:
    """0 where every verdict is right, 1 where one is not, 2 where nothing could be judged."""
    options = _parser().parse_args(arguments)
    try:
        judges = gpu_judges(device=options.device, slow=not options.no_slow, say=_say)
        return _main(options, factory or judges)
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


def _main(options: argparse.Namespace, factory: Factory) -> int:
    every = chosen(
        exhibits(),
        dialect=options.dialect,
        only=tuple(options.only),
        kind=options.kind,
        slow=not options.no_slow,
    )
    if not every:
        raise InputError("nothing is left to judge: no exhibit is all that was asked for")
    if options.list:
        for one in every:
            print(f"{one.name}  {one.task}  {one.kind}  {', '.join(one.expect)}")
        return 0
    with canaries.planted():
        if options.hostile:
            hostile = run_hostile(
                every, factory, count=options.hostile, device=options.device, on_progress=_say
            )
            print(tables.hostile_text(hostile))
            _write(options.json, json.dumps(hostile.to_json(), indent=1))
            return int(bool(hostile.wrong or hostile.left))
        study = run(every, factory, on_progress=_say)
    print(tables.as_text(study))
    _write(options.json, json.dumps(tables.as_json(study), indent=1))
    _write(options.markdown, tables.as_markdown(study, command=_command(options)))
    return int(bool(study.wrong))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.corpus",
        description="Judge candidates that cheat, break or only look strange.",
    )
    parser.add_argument("--dialect", default="all", choices=[*DIALECTS, "all"])
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="exhibits by name")
    parser.add_argument("--class", dest="kind", metavar="CLASS", help="of one class only")
    parser.add_argument("--no-slow", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--list", action="store_true", help="say which exhibits, judge none")
    parser.add_argument("--device", type=int, default=0, help="number of the GPU")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every outcome here")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables here")
    parser.add_argument(
        "--hostile", type=int, metavar="N", help="judge N hostile candidates in a row instead"
    )
    return parser


def _command(options: argparse.Namespace) -> str:
    """The command whose output this is, without where it was written to."""
    words = ["python", "-m", "experiments.corpus"]
    if options.dialect != "all":
        words += ["--dialect", options.dialect]
    if options.kind:
        words += ["--class", options.kind]
    if options.only:
        words += ["--only", *options.only]
    if options.no_slow:
        words.append("--no-slow")
    return shlex.join(words)


def _write(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        path.write_text(text.rstrip() + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
