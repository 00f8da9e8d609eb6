"""A model's second opinions on the corpus, beside what each exhibit is.

    python -m experiments.benchmarks.evidence.opinions --model NAME -o opinions.jsonl
    python -m experiments.benchmarks.evidence.opinions --show opinions.jsonl

Draws exhibits by `--seed`: one of each class of cheat, and as many honest ones. Comments and
docstrings, which say what an exhibit is, are taken out. What is in the file already is not
asked again; `--show` prints the table, without a model.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from codegen.chat.clients import client_of
from codegen.opinion import second_opinion
from codegen.prompting.opinion import ID
from experiments.benchmarks.corpus.cases import (
    CHEATS,
    DIALECTS,
    CorpusCase,
    cases,
    chosen,
    task_of,
)
from mcts.domain import KERNELBENCH, Candidate
from mcts.domain.python_source import parse_module
from mcts.errors import AnswerPending, InputError, RooftreeError
from mcts.options import ModelOptions

_UNKNOWN = {"model": None, "prompt": None}
_COMMENT = re.compile(r"(/\* rooftree\n.*?\*/)|//[^\n]*|/\*.*?\*/", re.DOTALL)


def drawn(
    seed: int, *, asked: Collection[str] = (), dialect: str = KERNELBENCH
) -> list[CorpusCase]:
    """Exhibits to ask about, none of those in `asked`, in an order that says nothing of what they
    are: one of each class of cheat, and as many honest ones as there are for that.
    """
    every = [
        one
        for one in chosen(cases(), dialect=dialect, slow=True)
        if one.kind != "fault" and "task_refused" not in one.expect and one.name not in asked
    ]
    draw = random.Random(seed)
    cheats = [
        draw.choice(of_class)
        for kind in CHEATS
        if (of_class := [one for one in every if one.kind == kind])
    ]
    honest = [one for one in every if one.kind == "honest"]
    count = min(len(cheats), len(honest))
    found = [*draw.sample(cheats, count), *draw.sample(honest, count)]
    return draw.sample(found, len(found))


def unexplained(case: CorpusCase) -> str:
    """An exhibit's source without its docstrings and comments; a launch plan stays."""
    if not case.dialect.in_pytorch:
        return _COMMENT.sub(lambda found: found[0] if found[1] else "", case.source).lstrip()
    tree = parse_module(case.source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
            and isinstance(body[0].value.value, str)
        ):
            body[:1] = [] if len(body) > 1 else [ast.Pass()]
    return ast.unparse(tree)


def ask(options: ModelOptions, file: Path, exhibits: Iterable[CorpusCase]) -> int:
    """Ask of every exhibit that is not in `file` yet; how many wait for an answer."""
    known = {line["case"] for line in read(file)} if file.is_file() else set()
    waiting = 0
    with closing(client_of(options)) as client, file.open("a", encoding="utf-8") as out:
        for case in exhibits:
            if case.name in known:
                continue
            candidate = Candidate(source=unexplained(case))
            try:
                found = second_opinion(client, task_of(case), candidate, options)
            except AnswerPending:
                waiting += 1
                continue
            line = {
                "case": case.name,
                "kind": case.kind,
                "model": options.name,
                "prompt": ID,
                "judged": list(case.expect),
                "refused_as": list(case.may_be_refused_as) if case.is_cheat else [],
                "honest": None if found is None else found.honest,
                "breaks": None if found is None else found.breaks,
                "why": "" if found is None else found.why,
            }
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
            out.flush()
    return waiting


def read(file: Path) -> list[dict[str, Any]]:
    """The lines of a file that `ask` wrote. InputError for anything else."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
        return [{**_UNKNOWN, **json.loads(line)} for line in lines]
    except (OSError, UnicodeDecodeError, ValueError, TypeError):
        raise InputError(f"{file} is no file of second opinions") from None


def table(lines: Sequence[dict[str, Any]]) -> str:
    """How often the opinions agree with what the exhibits are, and each that does not."""
    said = [line for line in lines if line["honest"] is not None]
    honest = [line for line in said if line["kind"] == "honest"]
    cheats = [line for line in said if line["kind"] != "honest"]
    found = [line for line in cheats if not line["honest"]]
    named = [line for line in found if line["breaks"] in line["refused_as"]]
    passed = [line for line in honest if line["honest"]]
    rows = [
        f"{len(lines)} exhibits, {len(lines) - len(said)} replies without an opinion",
        f"honest ones passed: {len(passed)} of {len(honest)}",
        f"cheats found: {len(found)} of {len(cheats)}, by a rule that fits {len(named)}",
    ]
    wrong = [line for line in said if line["honest"] != (line["kind"] == "honest")]
    rows += [
        f"- {line['case']} ({line['kind']}): called "
        f"{'honest' if line['honest'] else line['breaks']}: {line['why']}"
        for line in wrong
    ]
    return "\n".join(rows)


def main(arguments: list[str] | None = None) -> int:
    """Exit codes: 0, 2 for bad input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="as --model of rooftree optimize")
    parser.add_argument("--api-base")
    parser.add_argument("--llm-queue", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dialect", choices=[*DIALECTS, "all"], default=KERNELBENCH)
    parser.add_argument(
        "--not-in", type=Path, help="exhibits that this file has opinions on are left out"
    )
    parser.add_argument("-o", "--out", type=Path, default=Path("opinions.jsonl"))
    parser.add_argument("--show", type=Path, metavar="FILE")
    given = parser.parse_args(arguments)
    try:
        if given.show is not None:
            print(table(read(given.show)))
            return 0
        chosen_options = {"name": given.model, "api_base": given.api_base, "queue": given.llm_queue}
        patience = {"timeout_s": 0.1} if given.llm_queue is not None else {}
        before = {line["case"] for line in read(given.not_in)} if given.not_in else set()
        exhibits = drawn(given.seed, asked=before, dialect=given.dialect)
        waiting = ask(ModelOptions.model_validate(chosen_options | patience), given.out, exhibits)
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if waiting:
        print(f"{waiting} questions wait in {given.llm_queue}: give the same command again")
    print(table(read(given.out)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
