"""Whatever a candidate does, its verdict comes in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from mcts.domain import Candidate
from profilers.kernelbench.judge.deadline import UNBOUNDED, VerdictDeadline
from profilers.kernelbench.judge.evaluator import KernelBenchEvaluator
from profilers.kernelbench.judge.settings import FIRST_VERDICT_S
from tests.profilers.kernelbench.judge.test_judge import (
    FAKE,
    HONEST,
    SETTINGS,
    body,
    problem_task,
    verdict,
)

WITHIN_S = 3.0


class Process:
    """A process that hears when it is to end."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    def hang_up(self) -> None:
        self.ended.set()


def test_what_is_guarded_is_ended_when_the_time_is_up() -> None:
    with VerdictDeadline(0.2) as deadline:
        first, late, gone = Process(), Process(), Process()
        with deadline.guard(gone):
            assert 0.0 < deadline.cap(60.0) <= 0.2
            assert deadline.cap(0.01) == 0.01
        with deadline.guard(first):
            assert first.ended.wait(10.0) and deadline.passed
            assert deadline.cap(60.0) == 0.0
        with deadline.guard(late):
            assert late.ended.is_set()
        assert not gone.ended.is_set()


def test_without_a_deadline_nothing_is_ended() -> None:
    process = Process()
    with UNBOUNDED.guard(process):
        assert UNBOUNDED.cap(60.0) == 60.0 and not UNBOUNDED.passed
    assert not process.ended.is_set()


@pytest.fixture(scope="module")
def judge() -> Iterator[KernelBenchEvaluator]:
    told: list[str] = []
    judge = KernelBenchEvaluator(
        problem_task(), device="cpu", settings=replace(SETTINGS, verdict_within_s=WITHIN_S),
        processes=FAKE, on_progress=told.append,
    )  # fmt: skip
    assert "each verdict comes within 3 s (--verdict-within)" in told
    yield judge
    judge.close()


@pytest.mark.parametrize(
    ("source", "doing"),
    [
        # No single step of these takes long enough for a deadline of its own.
        (HONEST.format(seconds=1.0), "running on"),
        ("load_inline = 1\nwhile True: pass\n", "being loaded"),
    ],
    ids=["slow", "import"],
)
def test_a_verdict_comes_in_time(judge: KernelBenchEvaluator, source: str, doing: str) -> None:
    found = verdict(judge, source)
    assert found.status == "timed_out"
    assert "within 3 s (--verdict-within)" in found.message and doing in found.message


def test_what_hinders_the_reference_is_ended_beside_it(
    judge: KernelBenchEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[bool] = []
    ask = judge._place.problem.oracle.ask

    def hindered(op: str, **more: object) -> dict[str, object]:
        """What is expected comes only once the candidate's processes are gone."""
        if op == "compare" and not ended:
            while any(process.alive for process in channels):
                time.sleep(0.01)
            ended.append(True)
        return ask(op, **more)  # type: ignore[arg-type]

    load, channels = judge._place.load, []

    def loaded(session, candidate):  # type: ignore[no-untyped-def]
        channels.append(session.worker._channel)
        load(session, candidate)

    monkeypatch.setattr(judge._place, "load", loaded)
    monkeypatch.setattr(judge._place.problem.oracle, "ask", hindered)
    found = judge.evaluate(Candidate(source=HONEST.format(seconds=0.002)))
    assert ended
    assert found.status == "timed_out", found.message
    assert found.message.startswith("no verdict within 3 s (--verdict-within): it was still ")


def test_the_next_candidate_is_judged_as_ever(judge: KernelBenchEvaluator) -> None:
    found = verdict(judge, body("return (x @ self.weight)[:1]"))
    assert found.status == "wrong_result", found.message


def test_the_usual_deadline_grows_with_the_baseline() -> None:
    told: list[str] = []
    KernelBenchEvaluator(
        problem_task(), device="cpu", settings=SETTINGS, processes=FAKE, on_progress=told.append
    ).close()
    (line,) = [line for line in told if line.startswith("each verdict")]
    assert FIRST_VERDICT_S < float(line.split()[4]) < 2 * FIRST_VERDICT_S
