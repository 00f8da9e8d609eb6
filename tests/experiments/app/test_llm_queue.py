"""`--llm-queue`: a run whose model answers by files, stops for lack of answers and goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.runs.folders.journal import read_events
from experiments.runs.options.config import CONFIG_FILE, read_config
from tests.support.commands import completed, failed, optimize, optimized, refused, rooftree
from tests.support.file_answers import answer_all
from tests.support.openai_server import AutoModel

MODEL = ("--model", "queue/person", "--evaluations", 6)


@pytest.mark.parametrize("parallel", [1, 2])
def test_a_run_goes_on_as_answers_come_and_asks_nothing_twice(
    toy_folder: Path, tmp_path: Path, parallel: int
) -> None:
    run, queue, model = tmp_path / "run", tmp_path / "queue", AutoModel()
    words = (*MODEL, "--llm-queue", queue, "--llm-timeout", 0.1, "--parallel", parallel)
    done = optimize(toy_folder, run, *words)
    sessions = 1
    while done.exit_code != 0:
        failed(done, "waiting for an answer to", "resume with: rooftree resume")
        assert answer_all(queue, model) <= parallel
        done = rooftree("resume", run)
        sessions += 1
    assert sessions > 6 / parallel
    kinds = [event.kind for event in read_events(run)]
    assert kinds.count("abandoned") == 0
    assert kinds.count("told") == 7  # the baseline too
    trials = [e.payload["trial"] for e in read_events(run) if e.kind == "measured"]
    assert len(trials) == len(set(trials)), "nothing is measured twice"
    prompts = len(list(queue.glob("*.prompt.md")))
    assert prompts == len(list(queue.glob("*.reply.md")))

    # Another process, from the beginning, finds every reply.
    again = tmp_path / "again"
    done = optimize(toy_folder, again, *words)
    assert done.exit_code == 0, done.output
    assert len(list(queue.glob("*.prompt.md"))) == prompts
    told = [
        [
            (e.payload["trial"], e.payload["candidate_id"])
            for e in read_events(run_)
            if e.kind == "told"
        ]
        for run_ in (run, again)
    ]
    assert told[0] == told[1]


def test_a_run_that_is_resumed_waits_as_long_as_it_is_told(
    toy_folder: Path, tmp_path: Path
) -> None:
    run, queue = tmp_path / "run", tmp_path / "queue"
    failed(optimize(toy_folder, run, *MODEL, "--llm-queue", queue, "--llm-timeout", 0.1), "waiting")
    failed(rooftree("resume", run, "--llm-timeout", 0.3), "waiting for an answer to")
    assert read_config(run / CONFIG_FILE).model.timeout_s == 0.3
    refused(rooftree("resume", run, "--llm-timeout", 0), "--llm-timeout")


def test_a_resumed_run_without_a_model_takes_no_option_of_one(
    toy_folder: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    optimized(toy_folder, run, "--evaluations", 4)
    refused(rooftree("resume", run, "--llm-timeout", 5), "--llm-timeout")


def test_without_a_limit_the_question_is_held_open(toy_folder: Path, tmp_path: Path) -> None:
    import threading

    queue, model = tmp_path / "queue", AutoModel()
    queue.mkdir()
    ended = threading.Event()

    def answer() -> None:
        while not ended.wait(0.1):
            answer_all(queue, model)

    helper = threading.Thread(target=answer)
    helper.start()
    try:
        words = ("--model", "queue/person", "--evaluations", 2, "--llm-queue", queue)
        done = optimize(toy_folder, tmp_path / "run", *words)
    finally:
        ended.set()
        helper.join()
    assert done.exit_code == 0, done.output
    completed("explain", tmp_path / "run")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--api-base", "http://127.0.0.1:1/v1"), "--api-base does nothing with --llm-queue"),
        (("--fallback", "openai/x"), "--fallback does nothing with --llm-queue"),
    ],
)
def test_what_files_do_not_heed_is_refused(
    toy_folder: Path, tmp_path: Path, words: tuple[str, ...], why: str
) -> None:
    failed(
        optimize(toy_folder, tmp_path / "run", *MODEL, "--llm-queue", tmp_path / "q", *words), why
    )
