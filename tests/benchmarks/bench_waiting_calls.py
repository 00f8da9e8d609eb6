"""What the host takes between a call's end and the next one, of calls that wait for the device.

    python -m tests.benchmarks.bench_waiting_calls [--calls N] [--blocks N] [--device N]

A call that waits for the device leaves it idle until the host has enqueued the copies behind it,
which its events do not show and the judge's clock does. Prints, for calls that wait and calls that
do not, the median microseconds by the events and by the host's clock, the flush before them
included, and the host's steps behind the end of a call: up to the question for reserved L2, the
question, the copies and the wait. Needs a GPU.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from profilers.kernelbench.shared.clocks import Clock, clock_for
from profilers.kernelbench.shared.timed_runs import TimedRuns

STEPS = ("before", "question", "copies", "wait")


class WatchedClock:
    """A clock that notes the host's time around its own calls."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.host_us: list[float] = []
        self.steps_us: list[list[float]] = []
        self._begin = 0
        self._marks: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)

    def reset_cache(self) -> None:
        self._begin = time.perf_counter_ns()
        self._clock.reset_cache()

    def mark(self) -> Any:
        made = self._clock.mark()
        self._marks = [time.perf_counter_ns()]
        return made

    def persisting_bytes(self) -> int:
        self._marks.append(time.perf_counter_ns())
        size = self._clock.persisting_bytes()
        self._marks.append(time.perf_counter_ns())
        return size

    def synchronize(self) -> None:
        begin = time.perf_counter_ns()
        self._clock.synchronize()
        marks = [*self._marks, begin, time.perf_counter_ns()]
        if len(marks) == len(STEPS) + 1:  # behind a call
            self.host_us.append((marks[-1] - self._begin) / 1e3)
            self.steps_us.append([(end - start) / 1e3 for start, end in pairwise(marks)])
        self._marks = []


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
    print(f"{'a call that':14} {'events':>8} {'host':>8} " + " ".join(f"{s:>8}" for s in STEPS))
    for name, model in models(torch).items():
        clock = WatchedClock(clock_for(options.device))
        runs = TimedRuns(options.device, clock)
        events: list[float] = []
        for _ in range(options.blocks):
            runs.prepare(inputs)
            events += runs.run(model, flush=True)
        columns = [events, clock.host_us, *zip(*clock.steps_us, strict=True)]
        print(f"{name:14} " + " ".join(f"{statistics.median(us):8.1f}" for us in columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
