"""What the host takes behind calls that wait for the device, and behind calls that do not.

    python -m tests.benchmarks.bench_waiting_calls [--calls N] [--blocks N] [--device N]

A call that waits for the device leaves it idle until the host has enqueued the copies behind it,
which its events do not show and the judge's clock does. Prints medians in microseconds: a call by
its events, and by the host's clock with the flush before it; from the end of a call until the
copies are enqueued; the wait behind them; and the question for reserved L2. Idle calls, which hand
over earlier outputs, are what the judge takes off and, where they wait, what it allows for.
Needs a GPU.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from profilers.kernelbench.shared.clocks import Clock, clock_for
from profilers.kernelbench.shared.timed_runs import TimedRuns

COLUMNS = ("events", "host", "enqueued", "wait", "question")


class WatchedClock:
    """A clock that notes the host's time around its own calls, in microseconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._now: Callable[[], float] = lambda: time.perf_counter_ns() / 1e3
        self.forget()

    def forget(self) -> None:
        """Drop all that was noted."""
        self._begin_us = self._mark_us = 0.0
        self._marks = 0
        self.host_us: list[float] = []
        self.enqueued_us: list[float] = []
        self.wait_us: list[float] = []
        self.question_us: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)

    def reset_cache(self) -> None:
        self._begin_us = self._now()
        self._clock.reset_cache()

    def mark(self) -> Any:
        made = self._clock.mark()
        self._marks += 1
        self._mark_us = self._now()
        return made

    def synchronize(self) -> None:
        begin = self._now()
        self._clock.synchronize()
        end = self._now()
        if self._marks == 2:  # behind a call
            self.host_us.append(end - self._begin_us)
            self.enqueued_us.append(begin - self._mark_us)
            self.wait_us.append(end - begin)
            self._marks = 0

    def persisting_bytes(self) -> int:
        begin = self._now()
        size = self._clock.persisting_bytes()
        self.question_us.append(self._now() - begin)
        return size


def models(torch: Any) -> dict[str, Callable[..., Any]]:
    """The corpus's linear layer with GELU, as it is and with a wait in the middle."""
    weight = torch.randn(2048, 2048, device="cuda")
    linear, gelu = torch.nn.functional.linear, torch.nn.functional.gelu

    def plain(x: Any) -> Any:
        return gelu(linear(x, weight))

    def waiting(x: Any) -> Any:
        y = linear(x, weight)
        torch.cuda.current_stream().synchronize()
        return gelu(y) if y.abs().max().item() < 1e30 else y

    return {"does not wait": plain, "waits": waiting}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bench_waiting_calls")
    parser.add_argument("--calls", type=int, default=24)
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--device", type=int, default=0)
    options = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("error: PyTorch sees no GPU here", file=sys.stderr)
        return 2
    torch.cuda.set_device(options.device)
    inputs = [(torch.randn(1024, 2048, device="cuda"),) for _ in range(options.calls)]
    print(f"{'a call that':14} " + " ".join(f"{name:>8}" for name in COLUMNS))
    for name, model in models(torch).items():
        clock = WatchedClock(clock_for(options.device))
        runs = TimedRuns(options.device, clock)
        events: list[float] = []
        for _ in range(options.blocks):
            runs.prepare(inputs)
            events += runs.run(model, flush=True)
        _print(name, events, clock)
    for name, waits in (("is idle", False), ("is idle, waits", True)):
        clock.forget()
        _print(name, [us for _ in range(options.blocks) for us in runs.idle(waits=waits)], clock)
    return 0


def _print(name: str, events: list[float], clock: WatchedClock) -> None:
    columns = (events, clock.host_us, clock.enqueued_us, clock.wait_us, clock.question_us)
    print(f"{name:14} " + " ".join(f"{statistics.median(us):8.1f}" for us in columns))


if __name__ == "__main__":
    sys.exit(main())
