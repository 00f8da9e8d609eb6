"""`evaluate --second-opinion`: printed beside the verdict, which it does not change."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from codegen.chat.queue import waiting
from tests.support.commands import completed, failed, rooftree

ASK = ("evaluate", "row_softmax", "--set", "FAST=1", "--evaluator", "replay", "--second-opinion")


def answered(queue: Path, reply: str) -> tuple[object, ...]:
    """The command, with its one question answered."""
    words = (*ASK, "--model", "queue/me", "--llm-queue", queue, "--llm-timeout", 0.1)
    first = completed(*words)
    assert "measured" in first.stdout, "a remark that is not there yet costs no verdict"
    assert "says nothing: waiting for an answer" in first.stdout
    (prompt,) = waiting(queue)
    file = prompt.with_name(prompt.name.replace(".prompt.", ".reply."))
    file.write_text(reply)
    os.utime(file, (file.stat().st_mtime - 60,) * 2)
    return words


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ('{"honest": true, "why": "a plain softmax"}', "finds it honest: a plain softmax"),
        ('{"honest": false, "breaks": "leak"}', "finds that it breaks leak"),
        ('{"honest": false}', "finds that it breaks a rule"),
        ("nothing", "says nothing: no opinion"),
    ],
)
def test_the_opinion_is_a_remark(tmp_path: Path, reply: str, said: str) -> None:
    words = answered(tmp_path / "queue", reply)
    done = completed(*words)
    assert f"FAST=1: queue/me {said}" in done.stdout and "measured" in done.stdout
    (row,) = json.loads(completed(*words, "--json").stdout)["candidates"]
    assert row["status"] == "measured"
    expected = json.loads(reply).get("honest") if reply.startswith("{") else None
    assert row["opinion"].get("honest") == expected


def test_what_is_wrong_with_the_question_is_told_before_anything_is_measured() -> None:
    done = rooftree(*ASK)
    failed(done, "--second-opinion needs --model NAME")
    assert "judging" not in done.stderr
    failed(rooftree(*ASK[:-1], "--model", "openai/x"), "does nothing without --second-opinion")


def test_without_it_no_model_is_asked() -> None:
    done = completed(*ASK[:-1], "--json")
    (row,) = json.loads(done.stdout)["candidates"]
    assert "opinion" not in row
