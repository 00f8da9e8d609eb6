"""A run keeps the ceilings that it began with, whatever a later session measures."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import profilers.recordings.t4
from experiments.runs.folders.event_table import write_all
from experiments.runs.folders.journal import SqliteJournal, read_events, stored_rows
from mcts.errors import JournalError
from mcts.journal.record import read_result
from mcts.journal.runlog import begun_on
from mcts.ports import Event
from tests.support.commands import completed, failed, rooftree
from tests.support.needs import needs_litellm
from tests.support.openai_server import Answer, AutoModel, OpenAiServer

TASK = "row_softmax"
SLOWER = 0.8
"""How much of each rate a later session still finds."""


@pytest.fixture(autouse=True)
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-these-tests-alone")


def slow_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every later session measure lower ceilings than what is recorded."""
    load = profilers.recordings.t4.load_recording

    def slower(path: Path) -> Any:
        recording = load(path)
        ceilings = recording.hardware.ceilings
        assert ceilings is not None
        less = {name: SLOWER * rate for name, rate in ceilings if rate is not None}
        now = ceilings.model_copy(update=less)
        hardware = recording.hardware.model_copy(update={"ceilings": now})
        return replace(recording, hardware=hardware)

    monkeypatch.setattr(profilers.recordings.t4, "load_recording", slower)


def stop_before(monkeypatch: pytest.MonkeyPatch, kind: str, count: int) -> None:
    """Have the disk refuse the event of this kind that would be number `count`."""
    append, seen = SqliteJournal.append, [0]

    def refusing(self: SqliteJournal, event: str, payload: Mapping[str, Any]) -> Event:
        seen[0] += event == kind
        if seen[0] == count:
            raise JournalError("the disk is full")
        return append(self, event, payload)

    monkeypatch.setattr(SqliteJournal, "append", refusing)


def interrupted(monkeypatch: pytest.MonkeyPatch, words: list[object], kind: str, at: int) -> None:
    with monkeypatch.context() as patch:
        stop_before(patch, kind, at)
        failed(rooftree(*words), "the disk is full")


def digest(run: Path) -> str:
    return read_result(read_events(run)).tree_digest


def words(out: Path, *more: object) -> list[object]:
    replay = ["optimize", TASK, "--evaluator", "replay", "--memory", "off"]
    return [*replay, "--evaluations", 6, "--out", out, *more]


@pytest.mark.parametrize(("kind", "at"), [("profiled", 1), ("profiled", 2), ("told", 4)])
def test_rooflines_and_rewards_stay_of_one_scale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, at: int
) -> None:
    completed(*words(tmp_path / "whole"))
    run = tmp_path / "run"
    interrupted(monkeypatch, words(run), kind, at)
    slow_down(monkeypatch)
    completed("resume", run)
    whole, again = (read_result(read_events(folder)) for folder in (tmp_path / "whole", run))
    assert again.tree_digest == whole.tree_digest
    assert [node.reward for node in again.nodes] == [node.reward for node in whole.nodes]
    assert [node.guidance for node in again.nodes] == [node.guidance for node in whole.nodes]
    profiles = [e.payload["profile"] for e in read_events(run) if e.kind == "profiled"]
    assert len({json.dumps(profile["hardware"]["ceilings"]) for profile in profiles}) == 1


def by_prompt(body: dict[str, Any]) -> Answer:
    """An answer that depends on the question alone."""
    model = AutoModel()
    model._count = hashlib.sha256(json.dumps(body["messages"]).encode()).digest()[0]
    return model(body)


def questions(server: OpenAiServer) -> Counter[str]:
    return Counter(json.dumps(seen.body["messages"]) for seen in server.requests)


@needs_litellm
def test_an_answer_that_was_paid_for_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    for at in (0, 4):
        run = tmp_path / str(at)
        with OpenAiServer([by_prompt]) as server, monkeypatch.context() as patch:
            model = ["--model", "openai/x", "--api-base", server.url, "--price", "x=1,1"]
            if at:
                interrupted(patch, words(run, *model), "proposed", at)
                assert sum(questions(server).values()) >= at - 1
                slow_down(patch)
                completed("resume", run)
            else:
                completed(*words(run, *model))
            asked.append(questions(server))
    assert asked[0] == asked[1]
    assert digest(tmp_path / "0") == digest(tmp_path / "4")


def test_a_run_that_kept_no_ceilings_keeps_those_of_its_next_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As runs of earlier versions did not."""
    new, old = tmp_path / "new", tmp_path / "old"
    completed(*words(new))
    old.mkdir()
    for name in ("config.toml", "task"):
        (old / name).symlink_to(new / name)
    rows = list(stored_rows(new))
    started = json.loads(rows[0].payload)
    assert started.pop("device")["ceilings"]
    write_all(old / "run.sqlite", [rows[0]._replace(payload=json.dumps(started)), *rows[1:]])
    assert begun_on(read_events(old)) is None
    completed("resume", old)
    first = begun_on(read_events(old))
    assert first == begun_on(read_events(new))
    slow_down(monkeypatch)
    completed("resume", old)
    assert begun_on(read_events(old)) == first
    assert sum("device" in event.payload for event in read_events(old)) == 1
