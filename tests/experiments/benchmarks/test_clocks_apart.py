"""A case judged over and over: what is kept of each timing, and what is said of all."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.benchmarks.evidence import clocks_apart
from experiments.benchmarks.evidence.clocks_apart import main, read, summary
from mcts.domain import Candidate, Evaluation, Hardware, KernelTask, Policy, Profile
from mcts.errors import InputError
from mcts.ports import Evaluator
from profilers.kernelbench.judge.outside_clock import BlockSide, BlockSteps, PairedBlock
from profilers.kernelbench.judge.timing import BlockTimes, PairedTimer

CASE = "honest_host_sync"
CALLS = 10


def _side(event_us: float, outside_us: float) -> BlockSide:
    return BlockSide((event_us,) * CALLS, BlockSteps(0.0, CALLS * outside_us, 0.0))


def _times(claimed_us: float, outside_us: float) -> BlockTimes:
    """Blocks whose candidate says one time a call and takes another, beside an honest baseline."""
    block = PairedBlock(_side(claimed_us, outside_us), _side(200.0, 200.0))
    events = ((claimed_us,) * CALLS,) * 6
    return BlockTimes(((200.0,) * CALLS,) * 6, events, (block,) * 6)


class _Judge(Evaluator):
    """Times each candidate once, as the real one does, and says what it makes of it."""

    name = "one"
    hardware = Hardware(name="a GPU")

    def __init__(self) -> None:
        self.closed = False

    def evaluate(self, candidate: Candidate) -> Evaluation:
        PairedTimer.time(None)  # type: ignore[arg-type]
        return Evaluation(candidate_id=candidate.id, status="runtime_error", message="it broke")

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        raise NotImplementedError

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> _Judge:
    monkeypatch.setattr(PairedTimer, "time", lambda _timer: _times(100.0, 150.0))
    return _Judge()


def test_timings_and_verdicts_are_kept_and_added_to(
    judge: _Judge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, out = PairedTimer.time, tmp_path / "timings.jsonl"

    def factory(task: KernelTask, policy: Policy) -> Evaluator:
        assert task.name == "linear_gelu"
        PairedTimer.time(None)  # type: ignore[arg-type]  # the problem's own model: not kept
        return judge

    for _ in range(2):
        assert main([CASE, "--out", str(out), "--minutes", "0"], factory=factory) == 1
        assert "1 timings, 1 verdicts" in capsys.readouterr().out
    assert judge.closed
    assert PairedTimer.time is before
    timed, judged, *_ = read(out)
    assert timed["case"] == judged["case"] == f"kernelbench/{CASE}"
    assert (timed["claimed_us"], timed["outside_us"], timed["blocks"]) == (100.0, 150.0, 6)
    assert "the clocks disagree" in timed["disagreement"]
    assert not timed["may_only_wait"]
    assert judged["verdict"] == "runtime_error"
    assert "runtime error" in judged["wrong"]
    assert main(["--show", str(out)]) == 1
    assert capsys.readouterr().out.splitlines()[:-1] == [
        "2 timings, 2 verdicts",
        "clocks disagree in 2, and in 0 more unless waiting is allowed for",
        "further by the judge's clock: 50 us (50 to 50)",
        "2 runtime_error",
    ]


def test_a_judge_that_breaks_is_asked_once(
    judge: _Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Judge, "evaluate", lambda *_: 1 / 0)
    out = tmp_path / "timings.jsonl"
    assert main([CASE, "--out", str(out), "--minutes", "5"], factory=lambda *_: judge) == 1
    assert [entry["verdict"] for entry in read(out)] == [None]


def test_what_only_waiting_explains_is_counted_apart() -> None:
    timed = {"case": "a", "claimed_us": 100.0, "disagreement": None, "may_only_wait": False}
    entries = [
        {**timed, "outside_us": 98.0},
        {**timed, "outside_us": 140.0, "may_only_wait": True},
        {"case": "a", "verdict": "measured", "wrong": None, "seconds": 3.0},
    ]
    assert summary(entries).splitlines() == [
        "2 timings, 1 verdicts",
        "clocks disagree in 0, and in 1 more unless waiting is allowed for",
        "further by the judge's clock: 19 us (-2 to 40)",
        "1 measured",
        "3.0 s a verdict (3.0 at most)",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "", "no JSON", "[]", "3", '["verdict", "case", "wrong", "seconds"]',
        '{"case": "a", "verdict": "measured"}', '{"case": "a", "outside_us": 3}',
    ],
)  # fmt: skip
def test_a_file_of_something_else_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=r"other\.jsonl"):
        read(path)


@pytest.mark.parametrize(
    "arguments",
    [[], [CASE], ["no_such_case", "--out", "x"], ["cuda/honest_workspace", "--out", "x"]],
)
def test_bad_input_exits_with_2(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert not list(tmp_path.iterdir())


def test_without_a_gpu_nothing_is_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(clocks_apart, "gpu_problem", lambda *_, **__: "no GPU")
    assert main([CASE, "--out", str(tmp_path / "x")]) == 2
    assert not list(tmp_path.iterdir())


def test_a_file_that_lines_cannot_be_added_to_is_told_before_anything_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"case": "another", "verdict": "measured", "wrong": null, "seconds": 1}\n')
    garbled = tmp_path / "garbled"
    garbled.write_text("not a line of ours\n")
    for out, reason in (
        (tmp_path / "missing" / "timings.jsonl", "there is no folder"),
        (tmp_path, "cannot be read"),
        (other, "is about another case"),
        (garbled, "cannot be read"),
    ):
        assert main([CASE, "--out", str(out)], factory=pytest.fail) == 2
        told = capsys.readouterr().err
        assert reason in told and told.startswith("error: ") and told.count("\n") == 1
    assert garbled.read_text() == "not a line of ours\n"


def test_an_interruption_keeps_what_was_judged(
    judge: _Judge,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(candidate: Candidate) -> Evaluation:
        PairedTimer.time(None)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(judge, "evaluate", interrupted)
    out = tmp_path / "timings.jsonl"
    assert main([CASE, "--out", str(out)], factory=lambda *_: judge) == 130
    assert capsys.readouterr().err.endswith("interrupted; what was judged before is kept\n")
    assert [entry["outside_us"] for entry in read(out)] == [150.0]
