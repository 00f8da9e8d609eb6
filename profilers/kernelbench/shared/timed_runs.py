"""How calls are made and timed: the same code for candidate and baseline.

A call is always: reset L2's reservations, flush L2, mark, call the function, mark, and right behind
it, in stream order, copy every output. So a copy shows the output as it was when the mark says that
the call was over. Nothing waits for the device in between; afterwards every call waits, and the
host does there whatever can be left for later, so that a function that synchronises by itself has
little disadvantage: behind it the device is idle until the copies are enqueued.
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
"""Least size of a flush; reading it takes longer than a host needs to enqueue most calls."""
_SMALL_BYTES = 2**19
_SMALL_PIECES = 64
"""The allocator keeps separate memory for tensors below 1 MiB."""
_LARGEST_PAD = 4 * 2**20
_LEAST_PAD = 512
_WARM_UP_FLUSHES = 48  # some milliseconds of traffic, so that an idle device raises its clocks


class TimedRuns:
    """Calls of one function at a time on prepared inputs. Not thread-safe.

    Make it before any foreign code runs, because it binds then what it uses. `moved_stream` and
    `persisting_bytes` say what calls have left behind since they were last reset.
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
        self.records: list[RecordedCall] = []
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
        """Take the arguments of each timed call; earlier ones are dropped."""
        self.drop()
        self._calls = list(calls)
        self.clock.synchronize()

    def warm(self) -> None:
        """Make some milliseconds of memory traffic, so that the device raises its clocks.

        How long it takes depends on those clocks.
        """
        gc.collect()
        self._traffic()
        self.clock.synchronize()

    def reserve(self, size: int, *, needed: bool = False) -> None:
        """Have the allocator hold `size` bytes in one piece, if there is enough memory.

        Timed calls then never wait for the driver to allocate, and data lies alike in every process
        that reserves as much before it does anything else. If it is `needed`, torch's
        OutOfMemoryError says that there is not.
        """
        if not self.on_device:
            return
        with contextlib.suppress(*(() if needed else (self._torch.OutOfMemoryError,))):
            piece = self._torch.empty(size, dtype=self._torch.uint8, device=self._device)
            small = [
                self._torch.empty(_SMALL_BYTES, dtype=self._torch.uint8, device=self._device)
                for _ in range(min(_SMALL_PIECES, size // _SMALL_BYTES))
            ]
            del piece, small

    def run(self, function: Callable[..., Any], *, flush: bool, repeats: int = 1) -> list[float]:
        """Call `function` on all prepared inputs, `repeats` times; microseconds of each call.

        With `flush`, some milliseconds of traffic come first: after a pause the first reads of an
        H200 take twice as long, and the host is well ahead of the device behind that.
        The outputs of the last repeat stay in `records`. Raises what the function raises, and
        CudaError.
        """
        times: list[float] = []
        for _ in range(repeats):
            self.records = []
            if flush:
                self._traffic()
            self.records = self._record_calls(function, self._calls, flush=flush)
            times += [record.us for record in self.records]
        return times

    def idle(self, *, waits: bool = False) -> list[float]:
        """Make the calls of the last run again, but return its outputs in place of calling.

        With `waits`, each waits for the device before it returns. Returns microseconds of each.
        Earlier `records` are dropped first, so that copies are made where the last ones lay.
        """
        outputs = iter([record.output for record in self.records])
        self.records = []

        def call(*_: Any) -> Any:
            if waits:
                self.clock.synchronize()
            return next(outputs)

        self._traffic()
        self.records = self._record_calls(call, self._calls, flush=True)
        return [record.us for record in self.records]

    def once(
        self, function: Callable[..., Any], arguments: Sequence[Any], *, flush: bool
    ) -> RecordedCall:
        """One call, made like every timed one."""
        return self._record_calls(function, [arguments], flush=flush)[0]

    def changed(self) -> list[int]:
        """Indices of calls whose outputs changed afterwards, though no later call reuses them.

        A later call that returns the same memory (a replayed graph) may change it.
        """
        places = [record.storages() for record in self.records]
        users = Counter(address for found in places for address in found)
        return [
            index
            for index, (record, found) in enumerate(zip(self.records, places, strict=True))
            if all(users[address] == 1 for address in found) and record.changed()
        ]

    def burn(self, function: Callable[..., Any], calls: int) -> None:
        """Make `calls` calls in turn on the prepared inputs, without flushes; then wait."""
        for index in range(calls):
            self.enqueue(function, index)
        self.clock.synchronize()

    def enqueue(self, function: Callable[..., Any], index: int = 0) -> None:
        """Make one call on prepared inputs, the same ones again beyond the last; do not wait."""
        with self._torch.no_grad():
            function(*self._calls[index % len(self._calls)])

    def drop(self) -> None:
        """Drop prepared inputs and outputs."""
        self.records = []
        self._calls = []

    def _record_calls(
        self, function: Callable[..., Any], calls: Sequence[Sequence[Any]], *, flush: bool
    ) -> list[RecordedCall]:
        records: list[RecordedCall] = []
        with self._torch.no_grad(), _no_collection():
            for arguments in calls:
                self.clock.reset_cache()
                if flush:
                    self._flush()
                begin = self.clock.mark()
                output = function(*arguments)
                end = self.clock.mark()
                self._return_to_stream()
                tensors = tensors_in(output)
                copies = [self._copy(tensor) for tensor in tensors]
                self.clock.synchronize()
                # Before the wait, the host's time would count only if the function waits itself.
                self.persisting_bytes = max(self.persisting_bytes, self.clock.persisting_bytes())
                made = zip(tensors, copies, strict=True)
                places = [None if copy is None else TensorPlace.of(own) for own, copy in made]
                records.append(RecordedCall(output, begin, end, tensors, copies, places))
        for record in records:
            # Events have a resolution; a call shorter than that still took some time.
            record.us = max(self.clock.us(record.begin, record.end), 1e-3)
        return records

    def _traffic(self) -> None:
        for _ in range(_WARM_UP_FLUSHES):
            self._flush()

    def _flush(self) -> None:
        """Read more than L2 holds, so that nothing in it must be written back."""
        if self.on_device:
            self._sum(self._buffer, dim=0, out=self._sink)

    def _return_to_stream(self) -> None:
        """Undo and note that the function left another stream than its caller's."""
        if not self.on_device:
            return
        if self._current_stream(self._device).cuda_stream != self._stream.cuda_stream:
            self.moved_stream = True
            self._set_stream(self._stream)

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
    """Makes blocks of random size between inputs, so that addresses do not come back.

    A candidate that recognises an input by its address must not see the address again. Where inputs
    lie is part of what a call costs, so candidate and baseline are both padded.
    """

    def __init__(self, device: Any) -> None:
        self._device = device
        self._random = random.Random(os.urandom(16))

    def block(self) -> Any:
        """A block of a random size that the allocator takes from where it takes large tensors."""
        import torch

        size = self._random.randrange(_LARGEST_PAD, 16 * _LARGEST_PAD)
        return torch.empty(size, dtype=torch.uint8, device=self._device)

    def pad(self, size: int) -> Any:
        """A block of at most about `size` bytes, to be held as long as the input behind it."""
        import torch

        most = max(2 * _LEAST_PAD, min(size, _LARGEST_PAD))
        count = self._random.randrange(_LEAST_PAD, most)
        return torch.empty(count, dtype=torch.uint8, device=self._device)
