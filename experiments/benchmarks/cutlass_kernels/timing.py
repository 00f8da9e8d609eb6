"""Times of several kernels, taken in turn, so that a drift of the clock meets all of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

FLUSH_BYTES = 512 * 2**20
"""Read before each call: several times the largest L2."""


class Interleaved:
    """Times calls with CUDA events, the L2 cache flushed before each."""

    def __init__(self, torch: Any, *, seed: int) -> None:
        self._torch = torch
        self._flush = torch.ones(FLUSH_BYTES // 4, device="cuda")
        self._order = random.Random(seed)

    def times_us(
        self, calls: Mapping[str, Callable[[], Any]], *, rounds: int, warm_up: int = 2
    ) -> dict[str, list[float]]:
        """One time per round for each call; every round has an order of its own."""
        for _ in range(warm_up):
            for call in calls.values():
                call()
        marks: dict[str, list[tuple[Any, Any]]] = {name: [] for name in calls}
        names = list(calls)
        for _ in range(rounds):
            self._order.shuffle(names)
            for name in names:
                self._flush.sum()
                begin, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                calls[name]()
                end.record()
                marks[name].append((begin, end))
        self._torch.cuda.synchronize()
        return {
            name: [begin.elapsed_time(end) * 1e3 for begin, end in pairs]
            for name, pairs in marks.items()
        }
