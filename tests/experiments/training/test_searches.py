"""Examples out of searches on recordings, and their copies under other names."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from codegen.dialects.space import WRITING
from experiments.benchmarks.studies.recorded_task import recorded_task
from experiments.training.reading import read_against
from experiments.training.searches import Teacher, examples, renamed
from mcts.domain import Candidate
from mcts.errors import InputError

TASK = "gelu"


@pytest.fixture(scope="module", params=["scripted", "uniform"])
def rows(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    return list(examples(TASK, Teacher(proposer=request.param, seed=1, evaluations=12)))


def test_an_example_is_read_as_the_candidate_that_was_judged(rows: list[dict[str, Any]]) -> None:
    recorded = recorded_task(TASK)
    evaluator = recorded.evaluator(1)
    assert len(rows) == 12 and {row["family"] for row in rows} == {"elementwise"}
    for row in rows:
        parent = Candidate.model_validate_json(row["parent"])
        read = WRITING.read(row["completion"][0]["content"], read_against(recorded.task, parent))
        verdict = evaluator.evaluate(read.candidate)
        assert row["verdict"] == verdict.status
        before = evaluator.evaluate(parent)
        assert verdict.speedup is not None and before.speedup is not None
        if row["gain"] > 1:
            assert verdict.speedup > before.speedup
        elif row["gain"] < 1:
            assert verdict.speedup < before.speedup


def test_the_prompt_shows_what_the_search_knew_then(rows: list[dict[str, Any]]) -> None:
    first, last = (row["prompt"][1]["content"] for row in (rows[0], rows[-1]))
    assert "measured, us:" not in first and "measured, us:" in last
    for row in rows:
        assert row["completion"][0]["content"] not in row["prompt"][1]["content"]


def test_the_same_search_gives_the_same_examples(rows: list[dict[str, Any]]) -> None:
    again = Teacher(proposer=rows[0]["teacher"], seed=1, evaluations=12)
    assert list(examples(TASK, again)) == rows


def test_a_copy_says_the_same_under_other_names(rows: list[dict[str, Any]]) -> None:
    row = rows[-1]
    copy = renamed(row, random.Random(5))
    assert copy["parent"] is None and copy["verdict"] == row["verdict"]
    values, others = (json.loads(one["completion"][0]["content"]) for one in (row, copy))
    assert sorted(map(str, values.values())) == sorted(map(str, others.values()))
    before, after = row["prompt"][1]["content"], copy["prompt"][1]["content"]
    was, now = (listed(text) for text in (before, after))
    assert was.keys() == now.keys(), "labels are those of the places"
    assert sorted(each[1:] for each in was.values()) == sorted(each[1:] for each in now.values())
    assert not {each[0] for each in was.values()} & {each[0] for each in now.values()}
    last = json.loads(after.splitlines()[-1].partition(" ")[2])
    assert list(last) == list(now) and sorted(others) == list(others)
    assert all(last[label] != value for label, value in others.items())
    for label, value in {**last, **others}.items():
        assert json.dumps(value) in now[label][1].split(", ")


def listed(text: str) -> dict[str, tuple[str, str, str]]:
    """By label: the name, the values and the methods of each tunable that a prompt lists."""
    found = re.findall(r'^"(\w+)": (.*) \((\w+)(.*)\)$', text, re.M)
    return {label: (name, values, methods) for label, values, name, methods in found}


def test_a_task_without_a_recording_is_told() -> None:
    with pytest.raises(InputError):
        list(examples("no_such_task", Teacher(proposer="uniform", seed=1, evaluations=2)))


def test_names_of_copies_are_not_learnt_by_heart() -> None:
    row = next(iter(examples("gelu", Teacher(proposer="uniform", seed=1, evaluations=2))))
    draw = random.Random(1)
    copies = [renamed(row, draw) for _ in range(100)]
    names = [name for copy in copies for name, *_ in listed(copy["prompt"][1]["content"]).values()]
    assert len(set(names)) > 0.6 * len(names)
    changed = json.loads(row["completion"][0]["content"])
    replies = {tuple(json.loads(copy["completion"][0]["content"])) for copy in copies}
    assert len(replies) > 1 and {len(reply) for reply in replies} == {len(changed)}
