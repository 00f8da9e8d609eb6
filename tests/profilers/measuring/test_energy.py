"""Energy per call, against a simulated sensor whose truth is known."""

from __future__ import annotations

import math
import random
import sys
import types
from dataclasses import dataclass, field

import pytest

from mcts.domain import Energy
from mcts.errors import EnergyUnavailable
from profilers.hardware.nvml import NvmlEnergy
from profilers.measuring.energy import (
    EnergyPlan,
    Run,
    Window,
    figures,
    mean_interval,
    measure_energy,
)

IDLE_W = 70.0


@dataclass
class Board:
    """A GPU in simulated time. Its counter moves every `period_s` by that time's energy, taken
    from the mean power over the last `duty` of it, in units of `quantum_mj`.
    """

    period_s: float
    duty: float = 0.25
    quantum_mj: float = 1.0
    drift_per_s: float = 0.0
    now: float = 0.0
    total_mj: float = 0.0
    limit: float | None = 540.0
    _next: float = 0.0
    _seen_j: float = field(default=0.0)

    def __post_init__(self) -> None:
        self._next = self.now + self.period_s

    def spend(self, seconds: float, watts: float = IDLE_W) -> None:
        """Let time pass at a power."""
        end = self.now + seconds
        while self.now < end:
            opens = self._next - self.duty * self.period_s
            until = min(end, self._next if self.now >= opens else opens)
            if self.now >= opens:
                self._seen_j += watts * (until - self.now)
            self.now = until
            if self.now >= self._next:
                self.total_mj += self._seen_j / self.duty * 1e3
                self._seen_j, self._next = 0.0, self._next + self.period_s

    def read_mj(self) -> float:
        return math.floor(self.total_mj / self.quantum_mj) * self.quantum_mj

    def limit_w(self) -> float | None:
        return self.limit

    def clock(self) -> float:
        return self.now


@dataclass
class Work:
    """A kernel of `call_s` at `watts` that is never quite the same twice."""

    board: Board
    call_s: float
    watts: float
    rng: random.Random
    noise: float = 0.005
    ran: list[int] = field(default_factory=list)

    def __call__(self, calls: int) -> None:
        self.ran.append(calls)
        drift = 1 + self.board.drift_per_s * self.board.now
        watts = self.watts * drift * (1 + self.rng.gauss(0, self.noise))
        self.board.spend(calls * self.call_s, watts)

    @property
    def net_mj(self) -> float:
        return (self.watts - IDLE_W) * self.call_s * 1e3


def contest(seed: int, *, period_s: float = 0.1, duty: float = 0.25) -> tuple[Board, Work, Work]:
    rng = random.Random(f"work {seed}")
    board = Board(period_s=period_s, duty=duty, now=rng.random(), quantum_mj=15.6)
    return board, Work(board, 310e-6, 520.0, rng), Work(board, 290e-6, 480.0, rng)


@pytest.mark.parametrize(("period_s", "duty"), [(0.1, 0.25), (0.02, 1.0)])
def test_the_interval_contains_the_true_ratio(period_s: float, duty: float) -> None:
    """A drift of 2 % a minute, noise of 0.5 % a window; t on three to five pairs covers 94 %."""
    inside, runs, pairs = 0, 300, set()
    for seed in range(runs):
        board, before, after = contest(seed, period_s=period_s, duty=duty)
        board.drift_per_s = 0.02 / 60
        found = measure(board, before, after, EnergyPlan(seed=seed))
        assert found.ratio_low is not None and found.ratio_high is not None
        pairs.add(found.windows)
        # The drift scales gross power; what it leaves of the net ratio is below a part in 10^4.
        inside += found.ratio_low <= after.net_mj / before.net_mj <= found.ratio_high
    assert inside / runs >= 0.92
    assert pairs == {3, 4, 5}, "as many as the precision takes"


def measure(board: Board, before: Run, after: Run, plan: EnergyPlan | None = None) -> Energy:
    return measure_energy(
        board, baseline=before, candidate=after, plan=plan, clock=board.clock,
        sleep=board.spend,
    )  # fmt: skip


def test_energy_per_call_is_net_of_the_idle_device() -> None:
    board, before, after = contest(1)
    found = measure(board, before, after)
    assert found.low_mj <= found.energy_mj <= found.high_mj
    assert found.energy_mj == pytest.approx(after.net_mj, rel=0.02)
    assert found.baseline_mj == pytest.approx(before.net_mj, rel=0.02)
    assert found.idle_w == pytest.approx(IDLE_W, rel=0.02)
    assert found.limit_w == 540.0 and found.power_w == pytest.approx(480.0, rel=0.02)
    assert not found.at_limit
    assert "moves every 100 ms" in found.limits
    assert found.call_us == pytest.approx(290.0) and found.baseline_call_us == pytest.approx(310.0)


@pytest.mark.parametrize(("limit", "reached"), [(None, False), (520.0, False), (500.0, True)])
def test_work_at_the_boards_limit_of_power_is_told(limit: float | None, reached: bool) -> None:
    board, before, after = contest(1)
    board.limit = limit
    found = measure(board, before, after)
    assert (found.limit_w, found.at_limit) == (limit, reached)
    assert not found.model_copy(update={"call_us": None}).at_limit


def test_a_window_is_long_against_the_sensor() -> None:
    board, before, after = contest(2, period_s=0.1)
    measure(board, before, after)
    for work in (before, after):
        windows = work.ran[-3:]
        assert len(set(windows)) == 1, "the same work in every window"
        assert windows[0] * work.call_s >= 10 * 0.1 * 0.99


def test_a_first_call_that_compiles_makes_no_window_shorter() -> None:
    board, baseline, candidate = contest(2)

    def compiling(calls: int) -> None:
        if not candidate.ran:
            board.spend(3.0)
        candidate(calls)

    energy = measure(board, baseline, compiling)
    assert energy.window_s >= 1.0
    assert max(candidate.ran) * candidate.call_s >= 1.0


def test_a_slow_call_gets_fewer_pairs_but_at_least_three() -> None:
    board, before, after = contest(3)
    before.call_s, after.call_s = 15.0, 14.0
    found = measure(board, before, after)
    assert found.windows == 3


@pytest.mark.parametrize(("noise", "pairs"), [(0.0005, 3), (0.05, 5)])
def test_pairs_follow_until_the_ratio_is_precise(noise: float, pairs: int) -> None:
    board, before, after = contest(8)
    before.noise = after.noise = noise
    assert measure(board, before, after).windows == pairs


def test_a_counter_that_stands_still_is_no_counter() -> None:
    board, before, after = contest(4)
    board._next = math.inf
    with pytest.raises(EnergyUnavailable, match="has not moved for 3 s"):
        measure(board, before, after)


def test_work_that_draws_no_more_than_idling_has_no_energy() -> None:
    board, before, after = contest(5)
    after.watts = IDLE_W
    with pytest.raises(EnergyUnavailable, match="no more power than the idle device"):
        measure(board, before, after)


def test_a_drift_that_both_share_cancels_in_the_ratio() -> None:
    rng = random.Random(6)
    level = [math.exp(rng.gauss(0, 0.1)) for _ in range(5)]
    before = [Window(energy_mj=1000 * k, seconds=1, calls=1, running_s=1) for k in level]
    after = [Window(energy_mj=900 * k, seconds=1, calls=1, running_s=1) for k in level]
    found = figures(before, after, idle_w=0.0)
    assert found.ratio.low == pytest.approx(0.9) == found.ratio.high
    assert found.candidate_mj.high / found.candidate_mj.low > 1.05
    assert found.candidate_mj.point / found.baseline_mj.point == pytest.approx(0.9)


def test_an_interval_of_five_values_covers_what_it_says() -> None:
    rng, inside = random.Random(7), 0
    for _ in range(2000):
        found = mean_interval([math.exp(rng.gauss(0, 0.02)) for _ in range(5)])
        inside += found.low <= 1.0 <= found.high
    assert 0.94 <= inside / 2000 <= 0.96


class FakeNvml(types.ModuleType):
    """What `NvmlEnergy` asks of pynvml; `NVMLError_NotSupported` stands for an old GPU."""

    NVML_DEVICE_MIG_ENABLE = 1

    class NVMLError(Exception):
        pass

    class NVMLError_NotSupported(NVMLError):
        pass

    def __init__(self, *, mig: int | None = 0, counter: bool = True, driver: bool = True) -> None:
        super().__init__("pynvml")
        self.mig, self.counter, self.driver, self.open = mig, counter, driver, 0

    def nvmlInit(self) -> None:
        if not self.driver:
            raise self.NVMLError("Driver Not Loaded")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        return uuid

    def nvmlDeviceGetMigMode(self, _handle: str) -> tuple[int, int]:
        if self.mig is None:
            raise self.NVMLError_NotSupported
        return self.mig, self.mig

    def nvmlDeviceGetEnforcedPowerLimit(self, _handle: str) -> int:
        if self.mig is None:
            raise self.NVMLError_NotSupported
        return 700_000

    def nvmlDeviceGetTotalEnergyConsumption(self, _handle: str) -> int:
        if not self.counter:
            raise self.NVMLError_NotSupported
        return 1234


@pytest.mark.parametrize(("mig", "limit_w"), [(None, None), (0, 700.0)])
def test_the_counter_is_read_in_millijoules_and_the_limit_in_watts(
    mig: int | None, limit_w: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvml = FakeNvml(mig=mig)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    with NvmlEnergy("GPU-1") as sensor:
        assert sensor.read_mj() == 1234.0
        assert sensor.limit_w() == limit_w
    assert nvml.open == 0


@pytest.mark.parametrize(
    ("nvml", "reason"),
    [
        (FakeNvml(counter=False), "no energy counter"),
        (FakeNvml(mig=1), "MIG is on"),
        (FakeNvml(driver=False), "Driver Not Loaded"),
        (None, "nvidia-ml-py"),
    ],
)
def test_a_missing_counter_is_named_with_its_reason(
    nvml: FakeNvml | None, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    with pytest.raises(EnergyUnavailable, match=reason):
        NvmlEnergy("GPU-1")
    assert nvml is None or nvml.open == 0


@pytest.mark.gpu
def test_a_real_counter_moves() -> None:
    from profilers.hardware.device import find_gpu

    with NvmlEnergy(find_gpu().uuid) as sensor:
        assert sensor.read_mj() > 0
