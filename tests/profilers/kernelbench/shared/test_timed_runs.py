"""How calls are made and timed, with a clock that does what a device would."""

from __future__ import annotations

from typing import Any

import pytest

from profilers.kernelbench.shared.clocks import HostClock
from profilers.kernelbench.shared.timed_runs import TimedRuns

torch: Any = pytest.importorskip("torch")


class LateClock(HostClock):
    """Tells what it was asked, and lets `late` happen while the device is waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.late: Any = lambda: None
        self.reserved = 0

    def reset_cache(self) -> None:
        self.asked.append("reset")

    def mark(self) -> int:
        self.asked.append("mark")
        return super().mark()

    def synchronize(self) -> None:
        self.asked.append("wait")
        self.late()

    def persisting_bytes(self) -> int:
        self.asked.append("question")
        return self.reserved


@pytest.fixture
def clock() -> LateClock:
    return LateClock()


def test_the_host_leaves_for_behind_the_wait_what_need_not_come_before(clock: LateClock) -> None:
    runs = TimedRuns("cpu", clock)
    runs.prepare([(torch.ones(4),), (torch.ones(4),)])
    clock.asked.clear()
    runs.run(lambda x: x + 1, flush=True)
    assert clock.asked == ["reset", "mark", "mark", "wait", "question"] * 2


def test_idle_calls_wait_for_the_device_if_asked_to(clock: LateClock) -> None:
    runs = TimedRuns("cpu", clock)
    runs.prepare([(torch.ones(4),), (torch.ones(4),)])
    runs.run(lambda x: x + 1, flush=True)
    plain, waiting = (
        ["reset", "mark", *wait, "mark", "wait", "question"] * 2 for wait in ([], ["wait"])
    )
    for waits, expected in ((False, plain), (True, waiting), (True, waiting)):
        clock.asked.clear()
        assert len(runs.idle(waits=waits)) == 2
        assert clock.asked == expected
        assert [record.output.tolist() for record in runs.records] == [[2.0] * 4] * 2


def test_copies_show_the_outputs_as_they_were_before_the_wait(clock: LateClock) -> None:
    runs = TimedRuns("cpu", clock)
    output = torch.zeros(4)
    clock.late = lambda: output.fill_(7)
    record = runs.once(lambda x: output, (torch.ones(4),), flush=True)
    assert record.copies[0].tolist() == [0] * 4 and record.changed() == [0]


def test_the_most_of_l2_that_calls_reserved_is_noted(clock: LateClock) -> None:
    runs = TimedRuns("cpu", clock)
    for clock.reserved in (0, 4096, 1024):
        runs.once(lambda x: x, (torch.ones(4),), flush=False)
    assert runs.persisting_bytes == 4096
