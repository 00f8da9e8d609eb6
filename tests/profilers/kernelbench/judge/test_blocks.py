"""How many blocks are timed: until the interval is narrow and the judge's clock sees enough."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mcts.domain import Build
from profilers.compiling.building import Failed
from profilers.kernelbench.judge.outside_clock import (
    BlockSide,
    BlockSteps,
    OutsideClock,
    PairedBlock,
)
from profilers.kernelbench.judge.session import CandidateSession
from profilers.kernelbench.judge.settings import KernelBenchSettings
from profilers.kernelbench.judge.timing import BlockTimes, PairedTimer
from profilers.kernelbench.judge.verdicts import VerificationTally
from profilers.kernelbench.judge.verifying import Verifier

GLANCE = KernelBenchSettings(calls=1).for_baseline()


def timer_of(settings: KernelBenchSettings, *, room: int = 1) -> PairedTimer:
    session = SimpleNamespace(
        settings=settings,
        layout=SimpleNamespace(calls=room, in_turns=False),
        frozen_weights=True,
        doing="",
        cores=SimpleNamespace(draw=lambda: None, turn_of=lambda *_, **__: None),
        baseline=SimpleNamespace(processes=()),
        worker=SimpleNamespace(processes=()),
        drawn=lambda calls: nullcontext([str(call) for call in range(calls)]),
        release_cores=lambda: None,
    )
    return PairedTimer(cast(CandidateSession, session), cast(Verifier, None))


def blocks_of_one_call(
    settings: KernelBenchSettings, extra_us: Callable[[int], float], monkeypatch: pytest.MonkeyPatch
) -> BlockTimes:
    """What a timer makes of calls of 2,000 us whose n-th block costs `extra_us(n)` more."""
    timer = timer_of(settings)
    count = iter(range(1_000))

    def block(calls: int, **_: Any) -> tuple[tuple[float, ...], PairedBlock]:
        events = (2000.0,) * calls
        side, other = (
            BlockSide(events, BlockSteps(9000.0, sum(events) + 6900.0 + more, 6800.0))
            for more in (0.0, extra_us(next(count)))
        )
        return events, PairedBlock(side, other)

    monkeypatch.setattr(timer, "_block", block)
    return timer.time()


def test_a_steady_clock_needs_no_more_blocks_than_the_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = blocks_of_one_call(GLANCE, lambda _: 0.0, monkeypatch)
    assert len(found.blocks) == GLANCE.least_blocks


def test_blocks_follow_until_the_clock_sees_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on an H200 with inputs of 8 GiB: every second block takes a millisecond more."""
    found = blocks_of_one_call(GLANCE, lambda n: 900.0 * (n % 2), monkeypatch)
    assert GLANCE.blocks < len(found.blocks) < GLANCE.steady_blocks


def test_a_clock_that_stays_blind_ends_the_timing_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = blocks_of_one_call(GLANCE, lambda n: 1e5 * (n % 2), monkeypatch)
    assert len(found.blocks) == GLANCE.steady_blocks


def test_clocks_that_disagree_by_chance_are_given_more_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The baseline's first four timed blocks cost 900 us more than all that follow."""
    found = blocks_of_one_call(GLANCE, lambda n: 900.0 if n <= 4 else 0.0, monkeypatch)
    clock = OutsideClock()
    assert clock.disagreement(found.blocks[:4]) is not None
    assert clock.disagreement(found.blocks) is None
    assert GLANCE.blocks < len(found.blocks) < GLANCE.steady_blocks


def test_clocks_that_go_on_to_disagree_end_the_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = blocks_of_one_call(GLANCE, lambda _: 900.0, monkeypatch)
    assert len(found.blocks) == GLANCE.steady_blocks
    hasty = replace(GLANCE, doubt_budget_s=0.0)
    found = blocks_of_one_call(hasty, lambda _: 900.0, monkeypatch)
    assert len(found.blocks) == GLANCE.blocks


@pytest.mark.parametrize(("extra_us", "waited"), [(0.0, False), (90.0, True)])
def test_what_waiting_costs_is_measured_while_calls_seem_longer(
    extra_us: float, waited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    timer = timer_of(replace(KernelBenchSettings(), time_budget_s=0.0), room=1)
    asked: list[bool] = []

    def steps(more_us: float) -> BlockSide:
        return BlockSide((200.0,), BlockSteps(90.0, 900.0 + more_us, 90.0))

    def idle_us(calls: int, *, waits: bool = False) -> float:
        asked.append(waits)
        return 700.0 + 80.0 * waits

    def reply(*_: Any) -> tuple[BlockSide, dict[str, Any]]:
        return steps(0.0), {"outputs": []}

    monkeypatch.setattr(timer, "_candidate_side", lambda *_, **__: steps(extra_us))
    monkeypatch.setattr(timer, "_side", reply)
    monkeypatch.setattr(timer, "_idle_us", idle_us)
    monkeypatch.setattr(timer, "_comparisons", lambda *_: [])
    found = timer.time().blocks
    assert [block.waiting_us for block in found[1:]] == [780.0 if waited else None] * len(found[1:])
    assert asked.count(True) == sum(block.waiting_us is not None for block in found)
    assert OutsideClock().may_only_wait(found) is waited
    assert len(found) == KernelBenchSettings().least_blocks


def test_blocks_follow_while_the_speedup_is_known_to_no_factor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two of the first blocks take a sixtieth of the time, as if their work was done before."""
    timer = timer_of(GLANCE)
    count = iter(range(1_000))

    def block(calls: int, **_: Any) -> tuple[tuple[float, ...], PairedBlock]:
        events = (2000.0,) * calls
        quick = (30.0,) * calls if next(count) in (2, 4) else events
        steps = [BlockSteps(9000.0, sum(each) + 6900.0, 6800.0) for each in (quick, events)]
        return events, PairedBlock(BlockSide(quick, steps[0]), BlockSide(events, steps[1]))

    monkeypatch.setattr(timer, "_block", block)
    found = timer.time()
    assert GLANCE.blocks < len(found.blocks) < GLANCE.steady_blocks


def test_settings_may_forbid_more_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = replace(GLANCE, steady_blocks=0)
    found = blocks_of_one_call(settings, lambda n: 1e5 * (n % 2), monkeypatch)
    assert len(found.blocks) == GLANCE.blocks


@pytest.mark.parametrize(
    ("call_us", "room", "calls"),
    [(50.0, 48, 48), (2_700.0, 48, 22), (17_000.0, 48, 8), (2_700.0, 5, 5), (0.0, 48, 48)],
)
def test_blocks_of_slow_calls_have_fewer(call_us: float, room: int, calls: int) -> None:
    assert KernelBenchSettings().most_calls(room, call_us=call_us) == calls


@pytest.mark.parametrize("slow_ms", [0.0, 9.0, 200.0])
def test_a_slow_first_call_makes_no_short_blocks(
    slow_ms: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on an H200 with cuBLAS: a first call of milliseconds, whose successors take 15 us."""
    settings = replace(KernelBenchSettings(), time_budget_s=0.0)
    timer = timer_of(settings, room=settings.calls)
    asked: list[int] = []

    def block(calls: int, **_: Any) -> tuple[tuple[float, ...], PairedBlock]:
        events = (15.0 if asked else 15.0 + 1e3 * slow_ms,) * calls
        asked.append(calls)
        side = BlockSide(events, BlockSteps(90.0, sum(events) + 690.0, 68.0))
        return events, PairedBlock(side, side)

    monkeypatch.setattr(timer, "_block", block)
    found = timer.time()
    assert len(found.blocks) == settings.least_blocks
    assert min(block.calls for block in found.blocks) >= settings.calls // 3


@pytest.mark.parametrize("right", [True, False])
def test_a_timed_call_that_differs_from_the_baseline_is_judged_by_float64(
    right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The baseline errs as well, and by more where the weights of the block make it sensitive."""
    output = {
        "path": "output", "mismatches": 0 if right else 3, "elements": 9, "nans": 0,
        "max_error": 1e-3, "worst_ratio": 0.5, "error_ratio": 8.0, "error_share": 1e-4,
    }  # fmt: skip
    exact = {"structure": None, "problems": [], "outputs": [output], "exact": True}
    agreed = {"structure": None, "problems": [], "outputs": [{"mismatches": 0}]}
    timer = timer_of(GLANCE)
    session = cast(Any, timer._session)
    session.cores.turn_of = lambda *_args, **_named: None
    session.worker = session.baseline = SimpleNamespace(processes=())
    session.drawn = lambda _calls: nullcontext(["a", "b", "c"])
    session.tally = VerificationTally(error_factor=64.0)
    session.raise_for = lambda problems: None
    session.build = Build()
    side = BlockSide((15.0,) * 3, BlockSteps(90.0, 700.0, 68.0))
    fetched = {"outputs": ["x", "y", "z"], "problems": []}
    monkeypatch.setattr(timer, "_side", lambda *_: (side, fetched))
    monkeypatch.setattr(timer, "_comparisons", lambda *_: [agreed, exact, agreed])
    if right:
        assert timer._candidate_side(3, exactly=False) is side
        assert (session.tally.error_ratio, session.tally.rounds) == (8.0, 1)
    else:
        with pytest.raises(Failed, match="while being timed: 3 of 9 elements"):
            timer._candidate_side(3, exactly=False)
