"""Brief prompts: what a small model needs to choose values, and nothing else."""

from __future__ import annotations

import json
import re

import pytest

from codegen.dialects import writing_of
from codegen.prompting.brief import labels
from mcts.domain import Candidate
from mcts.errors import InputError
from mcts.ports import Attempt
from tests.codegen.cases import ask, failed, space_task, timed
from tests.codegen.prompting.test_prompts import built, compare_golden, requests, user


def test_the_golden_prompt_has_not_changed() -> None:
    prompt = built(requests()["optimize.space"], prompt_form="brief")
    compare_golden("brief.space", prompt)
    assert prompt.id == "brief_values/3" and prompt.dropped == {}


def test_its_last_line_is_a_reply_that_can_be_read() -> None:
    request = requests()["optimize.space"]
    last = user(built(request, prompt_form="brief")).splitlines()[-1]
    time_us, _, values = last.partition(" ")
    known = labels(request.task.space)
    assert float(time_us) > 0 and list(json.loads(values)) == list(known.values())
    name, tunable = next(iter(request.task.space.tunables.items()))
    other = next(value for value in tunable.values if value != json.loads(values)[known[name]])
    for called in (name, known[name]):
        read = writing_of(request.task.dialect).read(json.dumps({called: other}), request)
        assert read.candidate.tunables[name] == other


def test_a_label_is_no_tunables_name() -> None:
    space = space_task(tunables=30, values=2).space
    first, *others = space.tunables.items()
    named = space.model_copy(update={"tunables": dict([("A", first[1]), ("B", first[1]), *others])})
    found = list(labels(named).values())
    assert found[:3] == ["C", "D", "E"] and found[24:26] == ["AA", "AB"]
    assert len(set(found)) == len(named.tunables) and not set(found) & named.tunables.keys()


def test_conditions_name_tunables_as_replies_do() -> None:
    request = requests()["optimize.space"]
    text = user(built(request, prompt_form="brief"))
    conditions = [line for line in text.splitlines() if line.startswith("where ")]
    assert len(conditions) == len(request.task.space.where)
    for name in request.task.space.tunables:
        assert not any(re.search(rf"\b{name}\b", line) for line in conditions)


def test_the_fastest_are_shown_and_the_last_that_failed() -> None:
    task = space_task(tunables=2, values=8)
    names = list(task.space.tunables)
    pairs = [(a, b) for a in task.space.tunables[names[0]].values[:3] for b in range(1, 7)]
    some = [Candidate(source="", tunables=dict(zip(names, pair, strict=True))) for pair in pairs]
    judged = [
        Attempt(candidate=one, evaluation=timed(one, 50.0 + at)) for at, one in enumerate(some[:12])
    ]
    judged += [Attempt(candidate=one, evaluation=failed("runtime_error")) for one in some[12:16]]
    text = user(built(ask(task, history=tuple(judged)), prompt_form="brief"))
    shown = text.partition("measured, us:\n")[2].partition("\nfrom:")[0].splitlines()
    values = {"failed": some[15], "50": some[0]}
    for line in (shown[1], shown[-1]):
        time_us, _, changes = line.partition(" ")
        now = json.loads(text.splitlines()[-1].partition(" ")[2])
        known = labels(task.space)
        expected = {known[name]: value for name, value in values[time_us].tunables.items()}
        assert {**now, **json.loads(changes)} == expected
        assert all(now[name] != value for name, value in json.loads(changes).items())
    assert [line.split()[0] for line in shown] == [
        "failed", "failed", *(str(50 + at) for at in range(7, -1, -1)),
    ]  # fmt: skip


def test_nothing_is_said_of_the_profile_where_it_shall_not_be() -> None:
    request = requests()["optimize.space"]
    assert "\nbound: " in user(built(request, prompt_form="brief"))
    silent = user(built(request, prompt_form="brief", feedback="none"))
    assert "bound: " not in silent and "advice: " not in silent


def test_code_cannot_be_asked_for_briefly() -> None:
    with pytest.raises(InputError, match="values of tunables alone"):
        built(requests()["optimize.cuda"], prompt_form="brief")


def test_a_prompt_that_is_too_long_is_told() -> None:
    task = space_task(tunables=60, values=40)
    with pytest.raises(InputError, match="does not fit into a prompt"):
        built(ask(task), prompt_form="brief", prompt_tokens=2000)
