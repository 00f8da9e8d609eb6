"""How calls are made and timed: the same code for a candidate, for the baseline, and for nothing.

A call is always: all of L2 given back, a flush, a mark, the function, a mark, and right behind it,
in the same stream's order, a copy of every output. Whoever looks at a copy sees the output as it
stood when the mark says that the call was over. Nothing waits for the device in between; then all
does, so that a call which waits by itself costs the host nothing that others do not.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from profilers.kernelbench.shared.clocks import Clock, clock_for
from profilers.kernelbench.shared.recorded_calls import (
    RecordedCall,
    TensorPlace,
    device_name,
    has_storage,
    tensors_in,
)

_FLUSH_BYTES = 512 * 2**20
"""At least; reading so much takes longer than a host needs to enqueue most calls."""
_SMALL_BYTES = 2**19
_SMALL_PIECES = 64
"""The allocator keeps memory for tensors below 1 MiB apart."""
_LARGEST_PAD = 4 * 2**20
_LEAST_PAD = 512
_WARM_UP_FLUSHES = 48  # some milliseconds of traffic, so that an idle device raises its clocks


class TimedRuns:
    """Calls of one function at a time on prepared inputs. Not thread-safe.

    Make it before any foreign code runs: it binds what it uses then. `moved_stream` and
    `persisting_bytes` tell what calls have left behind since they were last set.
    """

    def __init__(self, device: int | str, clock: Clock | None = None) -> None:
        import torch

        self._torch = torch
        self._device = torch.device(device_name(device))
        self.on_device = device != "cpu"
        self.clock: Clock = clock_for(device) if clock is None else clock
        self._clone = torch.Tensor.clone
        self._plain = (torch.Tensor, torch.nn.Parameter)
        self._calls: list[Sequence[Any]] = []
        self.shots: list[RecordedCall] = []
        self.moved_stream = False
        self.persisting_bytes = 0
        if self.on_device:
            self._current_stream = torch.cuda.current_stream
            self._set_stream = torch.cuda.set_stream
            self._stream = torch.cuda.default_stream(self._device)
            cache = torch.cuda.get_device_properties(self._device).L2_cache_size
            size = max(_FLUSH_BYTES, 4 * cache)
            self._buffer = torch.zeros(size // 4, dtype=torch.float32, device=self._device)
            self._sink = torch.zeros((), dtype=torch.float32, device=self._device)
            self._sum = torch.sum

    def prepare(self, calls: Sequence[Sequence[Any]]) -> None:
        """Take the arguments of each timed call; what was prepared before is let go."""
        self.drop()
        self._calls = list(calls)
        self.clock.synchronize()

    def warm(self) -> None:
        """Traffic for some milliseconds, and whatever else need not be timed.

        How long it takes depends on the clocks that it raises.
        """
        gc.collect()
        self._traffic()
        self.clock.synchronize()

    def reserve(self, size: int) -> None:
        """Have the allocator hold `size` bytes in one piece, as far as there is memory.

        What is timed then never waits for the driver's memory, and data lies alike in every process
        that reserves as much before it does anything else.
        """
        if not self.on_device:
            return
        with contextlib.suppress(self._torch.OutOfMemoryError):
            piece = self._torch.empty(size, dtype=self._torch.uint8, device=self._device)
            small = [
                self._torch.empty(_SMALL_BYTES, dtype=self._torch.uint8, device=self._device)
                for _ in range(min(_SMALL_PIECES, size // _SMALL_BYTES))
            ]
            del piece, small

    def run(self, function: Callable[..., Any], *, flush: bool, repeats: int = 1) -> list[float]:
        """Call `function` on all that is prepared, `repeats` times; microseconds of each call.

        With `flush`, behind some milliseconds of traffic: after a pause an H200 is slower by a
        tenth for three or four, and the host is well ahead of the device when those are over.
        The outputs of the last repeat stay in `shots`. Raises what the function raises, and
        CudaError.
        """
        times: list[float] = []
        for _ in range(repeats):
            self.shots = []
            if flush:
                self._traffic()
            self.shots = self._shoot(function, self._calls, flush=flush)
            times += [shot.us for shot in self.shots]
        return times

    def once(
        self, function: Callable[..., Any], arguments: Sequence[Any], *, flush: bool
    ) -> RecordedCall:
        """One call, made like every timed one."""
        return self._shoot(function, [arguments], flush=flush)[0]

    def changed(self) -> list[int]:
        """Calls whose outputs were changed after they were over, though nothing reuses them.

        A later call that returns the same memory (a graph that is replayed) may change it.
        """
        places = [shot.storages() for shot in self.shots]
        users = Counter(address for found in places for address in found)
        return [
            index
            for index, (shot, found) in enumerate(zip(self.shots, places, strict=True))
            if all(users[address] == 1 for address in found) and shot.changed()
        ]

    def burn(self, function: Callable[..., Any], calls: int) -> None:
        """Go round the prepared inputs, `calls` calls in all, with no flush; then wait."""
        with self._torch.no_grad():
            for index in range(calls):
                function(*self._calls[index % len(self._calls)])
        self.clock.synchronize()

    def drop(self) -> None:
        """Let go of prepared inputs and of outputs."""
        self.shots = []
        self._calls = []

    def _shoot(
        self, function: Callable[..., Any], calls: Sequence[Sequence[Any]], *, flush: bool
    ) -> list[RecordedCall]:
        shots: list[RecordedCall] = []
        with self._torch.no_grad(), _no_collection():
            for arguments in calls:
                self.clock.reset_cache()
                if flush:
                    self._flush()
                begin = self.clock.mark()
                output = function(*arguments)
                end = self.clock.mark()
                self._heed_leftovers()
                tensors = tensors_in(output)
                copies = [self._copy(tensor) for tensor in tensors]
                made = zip(tensors, copies, strict=True)
                places = [None if copy is None else TensorPlace.of(own) for own, copy in made]
                shots.append(RecordedCall(output, begin, end, tensors, copies, places))
                self.clock.synchronize()
        for shot in shots:
            # The clock behind events ticks; a call below one tick still took some time.
            shot.us = max(self.clock.us(shot.begin, shot.end), 1e-3)
        return shots

    def _traffic(self) -> None:
        for _ in range(_WARM_UP_FLUSHES):
            self._flush()

    def _flush(self) -> None:
        """Read more than L2 holds, which leaves nothing there that must be written back."""
        if self.on_device:
            self._sum(self._buffer, dim=0, out=self._sink)

    def _heed_leftovers(self) -> None:
        if not self.on_device:
            return
        if self._current_stream(self._device).cuda_stream != self._stream.cuda_stream:
            self.moved_stream = True
            self._set_stream(self._stream)
        self.persisting_bytes = max(self.persisting_bytes, self.clock.persisting_bytes())

    def _copy(self, tensor: Any) -> Any:
        if (
            not any(type(tensor) is kind for kind in self._plain)
            or tensor.layout is not self._torch.strided
        ):
            return None
        if tensor.device.type == "meta" or not has_storage(tensor):
            return None
        return self._clone(tensor.detach())


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class AddressPadding:
    """Takes memory on a device between one input and the next, until it is let go."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._random = random.Random(os.urandom(16))

    def pad(self, size: int) -> Any:
        """A block of at most `size` bytes or so, to be held as long as the input behind it."""
        import torch

        most = max(2 * _LEAST_PAD, min(size, _LARGEST_PAD))
        count = self._random.randrange(_LEAST_PAD, most)
        return torch.empty(count, dtype=torch.uint8, device=self._device)
