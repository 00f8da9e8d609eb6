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
        return judge

    for _ in range(2):
        assert main([CASE, "--out", str(out), "--minutes", "0"], factory=factory) == 1
    assert judge.closed
    assert PairedTimer.time is before
    timed, judged, *_ = read(out)
    assert (timed["claimed_us"], timed["outside_us"], timed["blocks"]) == (100.0, 150.0, 6)
    assert "the clocks disagree" in timed["disagreement"]
    assert not timed["may_only_wait"]
    assert (judged["case"], judged["verdict"]) == (f"kernelbench/{CASE}", "runtime_error")
    assert "runtime error" in judged["wrong"]
    assert main(["--show", str(out)]) == 1
    assert capsys.readouterr().out.splitlines()[-5:-1] == [
        "2 timings, 2 verdicts",
        "clocks disagree in 2, and in 0 more unless waiting is allowed for",
        "further by the judge's clock: 50 us (50 to 50)",
        "2 runtime_error",
    ]


def test_what_only_waiting_explains_is_counted_apart() -> None:
    timed = {"claimed_us": 100.0, "disagreement": None, "may_only_wait": False}
    entries = [
        {**timed, "outside_us": 98.0},
        {**timed, "outside_us": 140.0, "may_only_wait": True},
        {"verdict": "measured", "wrong": None, "seconds": 3.0},
    ]
    assert summary(entries).splitlines() == [
        "2 timings, 1 verdicts",
        "clocks disagree in 0, and in 1 more unless waiting is allowed for",
        "further by the judge's clock: 19 us (-2 to 40)",
        "1 measured",
        "3.0 s a verdict (3.0 at most)",
    ]


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"verdicts": 3}', "3"])
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


def test_a_file_that_cannot_be_written_is_one_line(
    judge: _Judge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "missing" / "timings.jsonl"
    assert main([CASE, "--out", str(out)], factory=lambda *_: judge) == 2
    assert capsys.readouterr().err == f"error: cannot write {out}: No such file or directory\n"


def test_an_interruption_keeps_what_was_judged(
    judge: _Judge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "timings.jsonl"
    main([CASE, "--out", str(out), "--minutes", "0"], factory=lambda *_: judge)

    def interrupted(*_: object) -> Evaluator:
        raise KeyboardInterrupt

    assert main([CASE, "--out", str(out)], factory=interrupted) == 130
    assert "has what was judged before" in capsys.readouterr().err
    assert len(read(out)) == 2
