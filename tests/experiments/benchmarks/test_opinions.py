"""Second opinions on the corpus: drawn blind, asked once, counted."""

from __future__ import annotations

import ast
import io
import os
import tokenize
from pathlib import Path

import pytest

from codegen.chat.queue import waiting
from experiments.benchmarks.corpus.cases import cases, task_of
from experiments.benchmarks.evidence.opinions import drawn, main, read, table, unexplained


def test_as_many_honest_exhibits_as_classes_of_cheats_are_drawn() -> None:
    found = drawn(3)
    cheats = [case for case in found if case.is_cheat]
    assert len(found) == 2 * len(cheats) == len({case.name for case in found})
    assert len({case.kind for case in cheats}) == len(cheats) > 20
    assert [case.name for case in drawn(3)] == [case.name for case in found]
    assert [case.name for case in drawn(4)] != [case.name for case in found]


def test_what_explains_an_exhibit_is_taken_out() -> None:
    for case in drawn(3):
        bare = unexplained(case)
        first = ast.get_docstring(ast.parse(case.source))
        assert first is None or first.splitlines()[0] not in bare
        tokens = tokenize.generate_tokens(io.StringIO(bare).readline)
        assert not any(one.type == tokenize.COMMENT for one in tokens)


def test_device_code_keeps_its_plan_and_loses_its_comments() -> None:
    for case in drawn(3, dialect="cuda"):
        bare = unexplained(case)
        assert bare.startswith("/* rooftree\n") and bare.count("/*") == 1
        assert "//" not in bare.partition("*/")[2]
        assert task_of(case).dialect.space_of(bare) == task_of(case).dialect.space_of(case.source)


def test_exhibits_that_were_asked_are_left_out() -> None:
    first = {case.name for case in drawn(3)}
    assert not first & {case.name for case in drawn(3, asked=first, dialect="all")}


def test_exhibits_are_asked_once_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, queue = tmp_path / "o.jsonl", tmp_path / "q"
    words = ["--model", "queue/me", "--llm-queue", str(queue), "-o", str(out), "--seed", "3"]
    assert main(words) == 0
    prompts = list(waiting(queue))
    assert len(prompts) == len(drawn(3)) and "questions wait" in capsys.readouterr().out
    for prompt in prompts:
        reply = prompt.with_name(prompt.name.replace(".prompt.", ".reply."))
        reply.write_text('{"honest": true, "why": "looks fine"}')
        past = reply.stat().st_mtime - 10
        os.utime(reply, (past, past))
    assert main(words) == 0
    said = capsys.readouterr().out
    half = len(prompts) // 2
    assert f"honest ones passed: {half} of {half}" in said
    assert f"cheats found: 0 of {half}, by a rule that fits 0" in said
    assert {line["case"] for line in read(out)} == {case.name for case in drawn(3)}
    before = out.read_text()
    assert main(words) == 0 and out.read_text() == before
    capsys.readouterr()
    assert main(["--show", str(out)]) == 0
    assert main(["--show", str(tmp_path / "nothing")]) == 2
    assert f"honest ones passed: {half} of {half}" in capsys.readouterr().out


def test_a_cheat_counts_by_a_rule_that_fits_it() -> None:
    case = next(case for case in cases() if case.refused_as and case.is_cheat)
    line = {
        "case": case.name, "kind": case.kind, "judged": [], "honest": False, "why": "",
        "refused_as": list(case.may_be_refused_as),
    }  # fmt: skip
    fits = {**line, "breaks": case.refused_as[0]}
    other = {**line, "breaks": None}
    none = {**line, "honest": None, "breaks": None}
    told = table([fits, other, none])
    assert "3 exhibits, 1 replies without an opinion" in told
    assert "cheats found: 2 of 2, by a rule that fits 1" in told
