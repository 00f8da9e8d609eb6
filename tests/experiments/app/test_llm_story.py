"""Whole runs with a language model over HTTP, whatever it and its service do."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codegen.chat import retries
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import read_events
from mcts.journal.record import read_result
from tests.support import paper_gpu, suite_world
from tests.support.commands import completed
from tests.support.needs import needs_litellm
from tests.support.openai_server import Answer, AutoModel, OpenAiServer
from tests.support.prompt_ids import prompt_id
from tests.support.story import Storyteller, problems_of, words_for
from tests.support.story_answers import Values

pytestmark = needs_litellm


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """litellm's first call imports much: here, so that no short timeout runs out over it."""
    from codegen.chat.client import LitellmClient

    with OpenAiServer(["ready"]) as server:
        client = LitellmClient("openai/warm", api_base=server.url)
        client.complete([{"role": "user", "content": "x"}], max_tokens=9, temperature=0)


@pytest.fixture(autouse=True)
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-these-tests-alone")


@pytest.mark.parametrize(
    "evaluator", ["replay", pytest.param("paper-gpu", marks=pytest.mark.nvrtc)]
)
def test_every_scene_of_the_story_is_in_the_journal_with_its_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evaluator: str
) -> None:
    """`replay`: a model that chooses values. `paper-gpu`: one that writes kernels, compiled."""
    paper_gpu.install(monkeypatch)
    teller, run = Storyteller(Values()), tmp_path / "run"
    with OpenAiServer([teller]) as server:
        words, teller.answers = words_for(evaluator, server.url, tmp_path, timeout_s=2)
        completed(*words, "--out", run)
    assert list(problems_of(teller, run)) == []
    assert not any("127.0.0.1" in json.dumps(seen.body) for seen in server.requests)
    _questions_come_before_their_answers(run)
    _a_repair_is_told_what_failed([seen.body for seen in server.requests])


def test_the_tape_of_the_story_replays_the_same_tree(tmp_path: Path) -> None:
    """A refused prompt and a service that stays away included."""
    teller, run, tape = Storyteller(Values()), tmp_path / "run", tmp_path / "tape.jsonl"
    with OpenAiServer([teller]) as server:
        words, teller.answers = words_for("replay", server.url, tmp_path, timeout_s=2)
        completed(*words, "--out", run, "--llm-record", tape)
        asked = len(server.requests)
        for option in ("--api-base", "--price", "--llm-timeout"):
            at = words.index(option)
            del words[at : at + 2]
        completed(*words, "--out", tmp_path / "again", "--llm-replay", tape)
        assert len(server.requests) == asked
    results = [read_result(read_events(folder)) for folder in (run, tmp_path / "again")]
    assert results[0].tree_digest == results[1].tree_digest
    reasons = [[node.reason for node in result.nodes] for result in results]
    assert reasons[0] == reasons[1] and any("against our policy" in why for why in reasons[0])
    assert results[1].spending.cost == 0 and results[1].spending.replies == 29


def _questions_come_before_their_answers(run: Path) -> None:
    place: dict[tuple[str, int], int] = {
        (event.kind, event.payload["trial"]): event.seq
        for event in read_events(run)
        if "trial" in event.payload
    }
    for (kind, trial), seq in place.items():
        if kind in ("proposed", "rejected", "abandoned") and trial > 0:
            assert place["asked", trial] < place["proposing", trial] < seq
        if kind == "told" and trial > 0:
            assert ("abandoned", trial) not in place


def _a_repair_is_told_what_failed(bodies: list[dict[str, Any]]) -> None:
    prompts = [body["messages"][1]["content"] for body in bodies]
    failed = [text.partition("# How it failed")[2] for text in prompts]
    assert any('identifier "column" is undefined' in text for text in failed)
    assert any("0.0312 where 0.00024 is expected" in text for text in failed)
    again = [body["messages"][-1]["content"] for body in bodies if len(body["messages"]) > 2]
    assert all(text.startswith("Your reply cannot be used:") for text in again)
    assert any("content filter" in text for text in again)
    assert any("cut off at the token limit" in text for text in again)


def test_a_first_implementation_is_asked_for_and_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite_world.install(monkeypatch)
    problem, run = tmp_path / "1_Problem.py", tmp_path / "run"
    problem.write_text(suite_world.problem_text())
    script = [_module("wrong"), _module("1.5"), _module("2.0"), _module("2.5")]
    with OpenAiServer([*script, "no code any more"]) as server:
        completed(
            "optimize", problem, "--evaluator", "paper", "--model", "openai/x", "--api-base",
            server.url, "--evaluations", 4, "--search", "temperature=10", "--search",
            "exploration=2", "--search", "widening_root=1", "--out", run,
        )  # fmt: skip
    proposed = [e.payload for e in read_events(run) if e.kind == "proposed" and e.payload["usage"]]
    roles = [payload["usage"]["prompt"] for payload in proposed]
    assert roles[0] == prompt_id("implement") and prompt_id("repair") in roles, roles
    settings = RunFolder(run).config.search.algorithm.constants
    assert settings["expected_improvement"] == 0 and settings["temperature"] == 10, (
        "a model knows no space"
    )
    found = read_result(read_events(run))
    assert found.best.speedup == pytest.approx(2.5)
    assert "# kind: 2.5" in (run / "best" / "kernel.py").read_text()


def _module(kind: str) -> str:
    return (
        "## Plan\n\nOne kernel: memory.kernel_fusion\n\n## Code\n\n```python\n"
        f"# kind: {kind}\nfrom torch import nn\n\n\nclass ModelNew(nn.Module):\n"
        "    def forward(self, x):\n        return x + 0\n```\n"
    )


@pytest.fixture
def one_core() -> Iterator[None]:
    """This thread, and all that it starts, on one processor."""
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("processors cannot be chosen here")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


def test_thirty_two_calls_are_in_flight_on_one_core(tmp_path: Path, one_core: None) -> None:
    model, all_here = AutoModel(), threading.Event()

    def when_all_wait(body: dict[str, Any]) -> Answer:
        if server.in_flight == 32:
            all_here.set()
        return model(body) if all_here.wait(60) else 500

    with OpenAiServer([when_all_wait]) as server:
        completed(
            "optimize", "row_softmax", "--evaluator", "replay", "--model", "openai/x",
            "--api-base", server.url, "--parallel", 32, "--evaluations", 64,
            "--search", "widening_root=32", "--out", tmp_path / "run",
        )  # fmt: skip
    assert server.most_in_flight == 32
    result = read_result(read_events(tmp_path / "run"))
    assert result.evaluations == 64
    assert not any(event.kind == "abandoned" for event in read_events(tmp_path / "run"))


def test_feedback_changes_only_the_profile_section_of_the_prompt(
    tmp_path: Path,
) -> None:
    """The ablation of docs/models.md; only the first questions have the same parent for sure."""
    first = {}
    for arm in ("tools", "counters", "none"):
        with OpenAiServer([AutoModel()]) as server:
            completed(
                "optimize", "row_softmax", "--evaluator", "replay", "--model", "openai/x",
                "--api-base", server.url, "--feedback", arm, "--evaluations", 2, "--seed", 0,
                "--out", tmp_path / arm,
            )  # fmt: skip
        first[arm] = [message["content"] for message in server.requests[0].body["messages"]]
    assert "# Advice from the profile" in first["tools"][1]
    assert "# Counters of the profile" in first["counters"][1]
    section = re.compile(r"# (?:Advice from|Counters of) the profile\n.*?\n\n(?=# )", re.DOTALL)
    bare = {arm: [section.sub("", text) for text in texts] for arm, texts in first.items()}
    assert bare["tools"] == bare["counters"] == bare["none"] == first["none"]
