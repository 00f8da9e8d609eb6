"""The options of the llm proposer on the command line, through to the server and the run folder."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from experiments.runs.folders.journal import read_events
from experiments.runs.options.config import read_config
from tests.support.commands import (
    completed,
    failed,
    json_of,
    optimize,
    optimized,
    optimized_json,
    refused,
    rooftree,
)
from tests.support.needs import needs_litellm
from tests.support.openai_server import Answer, AutoModel, OpenAiServer, Say, Step

ROOT = Path(__file__).parents[3]
SECRET = "sk-planted-secret-1234567890"


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_TOKEN")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def asking(server: OpenAiServer, *words: object) -> tuple[object, ...]:
    return ("--model", "openai/test", "--api-base", server.url, "--evaluations", 4, *words)


def auto(**counted: int) -> Step:
    """Answers from the prompt, with the given counts of tokens."""
    model = AutoModel()

    def answer(body: dict[str, Any]) -> Answer:
        return Say(str(model(body)), **counted)

    return answer


def usages(run: Path) -> list[dict[str, Any]]:
    events = read_events(run)
    told = [event.payload for event in events if event.kind in ("proposed", "rejected")]
    return [payload["usage"] for payload in told if payload["usage"]]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--api-base", "http://here"), "--api-base"),
        (("--fallback", "gpt-4o"), "--fallback"),
        (("--price", "m=1,2"), "--price"),
        (("--llm-timeout", 5), "--llm-timeout"),
        (("--llm-retries", 5), "--llm-retries"),
        (("--reply-tokens", 5), "--reply-tokens"),
        (("--temperature", 0), "--temperature"),
        (("--llm-cache", "off"), "--llm-cache"),
        (("--llm-record", "tape"), "--llm-record"),
        (("--llm-replay", "tape"), "--llm-replay"),
        (("--max-cost", 1), "--max-cost"),
        (("--max-tokens", 1), "--max-tokens"),
        (("--max-gpu-minutes", 1), "--max-gpu-minutes"),
        (("--model", "m", "--price", "n=1,2"), "--price n: not a model that is asked (m)"),
        (("--model", "m", "--price", "m=free"), "write MODEL=IN,OUT"),
        (("--model", "m", "--llm-replay", "t", "--llm-record", "u"), "--llm-record does nothing"),
        (("--model", "m", "--llm-replay", "t", "--llm-timeout", 9), "--llm-timeout does nothing"),
        (("--model", "m", "--llm-replay", "t", "--max-cost", 9), "--max-cost does nothing"),
        (("--model", "m", "--llm-replay", "absent"), "cannot be read"),
        (("--model", "m", "--api-base", "http://me:word@host/v1"), "without login"),
        (("--model", "m", "--api-base", "http://host/v1?key=word"), "without login"),
    ],
    ids=str,
)
def test_an_option_without_effect_is_refused(
    toy_folder: Path, tmp_path: Path, words: tuple[object, ...], named: str
) -> None:
    done = optimize(toy_folder, tmp_path / "run", *words)
    failed(done)
    assert named in " ".join(done.stderr.split())
    assert not (tmp_path / "run").exists()


def test_minutes_has_two_names(toy_folder: Path, tmp_path: Path) -> None:
    for name in ("--minutes", "--max-minutes"):
        optimized(toy_folder, tmp_path / name, "--evaluations", 2, name, 3)
        assert read_config(tmp_path / name / "config.toml").limits.minutes == 3


@needs_litellm
def test_options_reach_the_server_and_the_configuration(toy_folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = ("--temperature", 0.25, "--reply-tokens", 321, "--llm-retries", 1, "--max-cost", 9)
    words += ("--fallback", "openai/spare", "--price", "openai/spare=1,2", "--max-tokens", 10**6)
    with OpenAiServer([auto()]) as server:
        optimized(toy_folder, run, *asking(server, *words, "--price", "test=1,2"))
        body = server.requests[0].body
    assert (body["temperature"], body["max_tokens"]) == (0.25, 321)
    config = read_config(run / "config.toml")
    assert (config.limits.cost_usd, config.limits.tokens) == (9, 10**6)
    assert config.model.fallbacks == ("openai/spare",)
    assert config.model.prices == ("openai/spare=1,2", "test=1,2")
    assert (config.model.retries, config.model.cache) == (1, None)


@needs_litellm
def test_the_cost_of_a_run_adds_up_to_the_cent(toy_folder: Path, tmp_path: Path) -> None:
    with OpenAiServer([auto(prompt_tokens=1003, completion_tokens=77)]) as server:
        optimized(toy_folder, tmp_path / "run", *asking(server, "--price", "test=0.7,2.1"))
        calls = len(server.requests)
    found = usages(tmp_path / "run")
    assert sum(each["replies"] for each in found) == calls
    assert sum(round(each["cost_usd"] * 1e9) for each in found) == calls * 863_800


@needs_litellm
def test_a_cap_on_the_cost_of_a_model_without_a_price_is_refused(
    toy_folder: Path, tmp_path: Path
) -> None:
    with OpenAiServer([auto()]) as server:
        done = optimize(toy_folder, tmp_path / "run", *asking(server, "--max-cost", 1))
        assert server.requests == []
    assert done.exit_code == 2
    assert "--price openai/test=IN,OUT" in done.stderr


@needs_litellm
def test_a_run_from_a_cache_or_a_tape_sends_no_request(toy_folder: Path, tmp_path: Path) -> None:
    cache, tape = tmp_path / "cache.sqlite", tmp_path / "tape.jsonl"
    keep = ("--llm-cache", cache, "--price", "test=1,2")
    with OpenAiServer([auto()]) as server:
        words = asking(server, *keep, "--llm-record", tape)
        first = optimized_json(toy_folder, tmp_path / "a", *words)
        asked = len(server.requests)
        again = optimized_json(toy_folder, tmp_path / "b", *asking(server, *keep))
        words = asking(server, "--llm-replay", tape)
        played = optimized_json(toy_folder, tmp_path / "c", *words)
        assert asked > 0 and len(server.requests) == asked
    assert first["tree_digest"] == again["tree_digest"] == played["tree_digest"]
    paid = sum(each["cost_usd"] for each in usages(tmp_path / "a"))
    for run in ("b", "c"):
        assert all(each["cached"] and each["cost_usd"] == 0 for each in usages(tmp_path / run))
        kept = sum(each["original_cost_usd"] for each in usages(tmp_path / run))
        assert kept == pytest.approx(paid)


@needs_litellm
def test_a_run_killed_with_calls_in_flight_repeats_only_those(
    toy_folder: Path, tmp_path: Path
) -> None:
    words = ("--price", "test=1,2", "--parallel", 1)
    with OpenAiServer([auto()]) as server:
        whole = optimized_json(toy_folder, tmp_path / "whole", *asking(server, *words))
        questions = [seen.body["messages"] for seen in server.requests]
    run, arrived, model = tmp_path / "killed", threading.Event(), auto()
    child: list[subprocess.Popen[str]] = []

    def third_kills(body: dict[str, Any]) -> Answer:
        if len(server.requests) == 3 and not arrived.is_set():
            arrived.set()
            child[0].kill()
            return 503
        return model(body) if callable(model) else 500

    with OpenAiServer([third_kills]) as server:
        child.append(_start(toy_folder, run, *asking(server, *words)))
        child[0].wait(60)
        assert arrived.is_set()
        resumed = json_of("resume", run)
        asked = [seen.body["messages"] for seen in server.requests]
    assert asked[:3] == questions[:3] and asked[3:] == questions[2:], "only what was in flight"
    assert resumed["tree_digest"] == whole["tree_digest"]
    costs = [[each["cost_usd"] for each in usages(path)] for path in (run, tmp_path / "whole")]
    assert costs[0] == costs[1]


def _start(folder: Path, out: Path, *words: object) -> subprocess.Popen[str]:
    command = ["optimize", folder, "--evaluator", "replay", "--out", out, *words]
    return subprocess.Popen(
        [sys.executable, "-m", "experiments", *map(str, command)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@needs_litellm
def test_answers_are_kept_in_the_run_folder_without_any_secret(
    toy_folder: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with OpenAiServer([auto()]) as server:
        optimized(toy_folder, run, *asking(server, "--llm-record", run.with_name("tape")))
    with sqlite3.connect(run / "llm_cache.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM answer").fetchone()[0] >= 2
    for file in [*filter(Path.is_file, run.rglob("*")), run.with_name("tape")]:
        assert SECRET.encode() not in file.read_bytes(), file


@needs_litellm
def test_llm_cache_off_writes_no_cache(toy_folder: Path, tmp_path: Path) -> None:
    with OpenAiServer([auto()]) as server:
        optimized(toy_folder, tmp_path / "run", *asking(server, "--llm-cache", "off"))
    assert not (tmp_path / "run" / "llm_cache.sqlite").exists()


@needs_litellm
def test_a_run_that_reached_its_cap_resumes_with_a_higher_one(
    toy_folder: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with OpenAiServer([auto(prompt_tokens=1000, completion_tokens=100)]) as server:
        words = asking(server, "--price", "test=1000,0", "--max-cost", 2)
        optimized(toy_folder, run, *words)
        assert len(server.requests) == 2
        completed("resume", run, "--max-cost", 3, "--price", "test=500,0")
        assert len(server.requests) == 4
    config = read_config(run / "config.toml")
    assert config.limits.cost_usd == 3
    assert config.model.prices == ("test=500,0",)


def test_resume_refuses_a_cap_without_effect(toy_folder: Path, tmp_path: Path) -> None:
    optimize(toy_folder, tmp_path / "run", "--evaluations", 2)
    for option in ("--max-cost", "--max-tokens", "--max-gpu-minutes", "--price"):
        refused(
            rooftree("resume", tmp_path / "run", option, "m=1,2" if option == "--price" else 5),
            option,
        )
