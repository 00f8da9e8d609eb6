"""Parts that can be named, where they come from, and which are broken."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from experiments.app import plugins
from experiments.app.doctor import examine
from tests.support.commands import completed, rooftree


def test_ours_are_all_there_and_can_be_loaded() -> None:
    found = json.loads(completed("plugins", "--json").stdout)
    kinds = {(one["kind"], one["name"]) for one in found if one["source"] == "Rooftree"}
    assert kinds >= {("proposer", "llm"), ("evaluator", "gpu"), ("search", "puct")}
    assert not any(one["problem"] for one in found)


def test_a_part_of_ours_says_what_it_needs_besides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "has_module", lambda name: name != "optuna")
    done = rooftree("plugins", columns=160)
    assert done.exit_code == 0
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "proposer tpe Rooftree needs optuna: pip install 'rooftree[optuna]'" in lines
    assert "proposer llm Rooftree ok" in lines


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    points = {
        "rooftree.searches": [
            EntryPoint("puct", "math:pi", "rooftree.searches"),
            EntryPoint("gone", "no_such_module:search", "rooftree.searches"),
        ],
        "rooftree.microtools": [EntryPoint("odd", "math:pi", "rooftree.microtools")],
        "rooftree.proposers": [EntryPoint("fine", "math:sqrt", "rooftree.proposers")],
    }

    def fake(*, group: str) -> Any:
        return points.get(group, [])

    monkeypatch.setattr(plugins, "entry_points", fake)
    monkeypatch.setattr(plugins, "source_of", lambda point: "theirs 1.0")


def test_a_broken_and_a_hidden_one_are_told_with_the_reason(registered: None) -> None:
    done = rooftree("plugins", columns=160)
    assert done.exit_code == 1
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "search puct theirs 1.0 hidden: ours has this name" in lines
    assert any(line.startswith("search gone theirs 1.0 ModuleNotFoundError") for line in lines)
    assert any(line.startswith("micro-tool odd theirs 1.0 ") and "no micro-tool" in line
               for line in lines)  # fmt: skip
    assert "proposer fine theirs 1.0 ok" in lines


def test_doctor_says_so_too(registered: None) -> None:
    told = [one for one in examine() if one.name == "plug-ins"]
    assert told[0].level == "ok" and "proposer fine" in told[0].detail
    assert {one.level for one in told[1:]} == {"note"} and len(told) == 4
