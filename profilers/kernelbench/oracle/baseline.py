"""The baseline: the problem's own model, timed by the same code as candidates.

A candidate gets its inputs at fresh addresses, and so does the baseline.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from profilers.children.protocol import RequestRefused
from profilers.kernelbench.oracle.claims import compare_timed
from profilers.kernelbench.oracle.draws import Draw
from profilers.kernelbench.oracle.memory import shared_bytes
from profilers.kernelbench.oracle.model_state import precision
from profilers.kernelbench.oracle.reference import Expectation, ReferenceModel
from profilers.kernelbench.shared.recorded_calls import RecordedCall, device_name
from profilers.kernelbench.shared.shared_memory import SharedBuffer, room_for
from profilers.kernelbench.shared.timed_runs import AddressPadding, TimedRuns
from profilers.kernelbench.shared.trees import mapped

_COPY_BYTES = 2**30
_COPIES = 15
_PADDED_LIMIT = 2**30


class _NotCompiled(Exception):
    """Why torch.compile did not work."""


class Baseline:
    """Runs the reference's model, eager or compiled, on inputs that are prepared."""

    def __init__(self, reference: ReferenceModel, device: int | str, *, tf32: bool) -> None:
        self._reference = reference
        self._device = device
        self._tf32 = tf32
        self._runs = TimedRuns(device)
        self._function = reference.callable(reference.model)

    @property
    def device_title(self) -> str:
        import torch

        if self._device == "cpu":
            return "CPU"
        return str(torch.cuda.get_device_name(self._device))

    def prepare(self, calls: Sequence[Sequence[Any]]) -> None:
        self._runs.prepare(calls)

    def warm(self) -> None:
        """Make the device raise its clocks."""
        self._runs.warm()

    def run(self, *, flush: bool, eager: bool = False) -> list[float]:
        """Microseconds of each prepared call. Raises ProblemFault for what the model raises.

        With `eager` it is the model as it is written, even if it was compiled: outputs are compared
        with those, as a compiler may choose another precision for a convolution.
        """
        reference = self._reference
        function = reference.callable(reference.model) if eager else self._function
        with precision(tf32=self._tf32), reference.settled(), reference.faults_while("forward"):
            return self._runs.run(function, flush=flush)

    def burn(self, calls: int) -> None:
        reference = self._reference
        with precision(tf32=self._tf32), reference.settled(), reference.faults_while("forward"):
            self._runs.burn(self._function, calls)

    def outputs(self) -> list[Any]:
        """The outputs of the last run, as they were right behind each call."""
        return [_with_copies(record) for record in self._runs.records]

    def drop(self) -> None:
        """Drop prepared inputs and outputs."""
        self._runs.drop()

    def synchronize(self) -> None:
        self._runs.clock.synchronize()

    def compile(self, inputs: list[Any], *, wanted: bool) -> dict[str, Any]:
        """Compile the model and call it once; or, unless `wanted`, return to the eager model.

        If the compiler fails, the baseline stays eager and `reason` says why.
        """
        model = self._reference.model
        begin = time.perf_counter()
        reason = None
        function = self._reference.callable(model)
        if wanted:
            try:
                function = self._compiled(model, inputs)
            except _NotCompiled as error:
                reason = str(error)
        self._function = function
        return {
            "seconds": time.perf_counter() - begin,
            "available": reason is None,
            "reason": reason,
        }

    def copy_gb_per_s(self) -> float | None:
        """Rate of a device copy, bytes read and written together, in GB/s; None on the CPU."""
        import torch

        if self._device == "cpu":
            return None
        free, _ = torch.cuda.mem_get_info()
        size = min(_COPY_BYTES, free // 8)
        where = torch.device(device_name(self._device))
        source = torch.zeros(size, dtype=torch.uint8, device=where)
        target = torch.zeros_like(source)
        self._runs.warm()
        times = []
        for _ in range(_COPIES):
            begin = self._runs.clock.mark()
            target.copy_(source)
            end = self._runs.clock.mark()
            self._runs.clock.synchronize()
            times.append(self._runs.clock.us(begin, end))
        return float(2 * size / median(times) / 1e3)

    def _compiled(self, model: Any, inputs: list[Any]) -> Callable[..., Any]:
        import torch

        try:
            from torch._dynamo.utils import counters

            torch.compiler.reset()
            counters.clear()
            function = self._reference.callable(torch.compile(model))
            with torch.no_grad(), precision(tf32=self._tf32), self._reference.settled():
                function(*inputs)
            self.synchronize()
            graphs = counters["stats"]["unique_graphs"]
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            text = " ".join(str(error).split())[:400]
            raise _NotCompiled(f"{type(error).__name__}: {text}") from error
        if not graphs:
            raise _NotCompiled("it captured no part of the model, all of it would run as before")
        return function


def _with_copies(record: RecordedCall) -> Any:
    """A call's output with the copies in place of its tensors, if they were copied."""
    pairs = zip(record.tensors, record.copies, strict=True)
    order = iter([own if copy is None else copy for own, copy in pairs])
    return mapped(record.output, lambda _own: next(order))


class TimedBaseline:
    """Calls of the baseline: their prepared inputs, and the comparison with what they returned."""

    def __init__(self, baseline: Baseline, reference: ReferenceModel, device: int | str) -> None:
        import torch

        self._baseline = baseline
        self._reference = reference
        self._padding = AddressPadding(torch.device(device_name(device)))
        self._pads: list[Any] = []
        self._honest: tuple[float, ...] = ()

    def outdate(self) -> None:
        """The weights have changed: how far its outputs are off is not known any more."""
        self._honest = ()

    def prepare(self, draws: Sequence[Draw]) -> None:
        """Prepare the baseline to run on each draw."""
        self._pads = []
        self._baseline.prepare([self._at_fresh_addresses(draw.inputs) for draw in draws])

    def drop(self) -> None:
        """Drop prepared inputs and outputs."""
        self._baseline.drop()
        self._pads = []

    def compare(
        self,
        claims: Sequence[Any],
        buffer: SharedBuffer,
        draws: Sequence[Draw],
        *,
        relative: float,
        absolute: float,
    ) -> list[dict[str, Any]]:
        """Compare a worker's outputs with those of the baseline's last run, call by call.

        Both sides have errors, so twice the tolerance is allowed between them, and more where a
        model's own outputs are known to be off by more, as of convolutions in TF32; what differs
        further is compared with float64. RequestRefused "internal" if the last run was of other
        calls.
        """
        if len(claims) != len(draws):
            text = f"outputs of {len(claims)} calls for {len(draws)} that were asked for"
            problem = {"cheat": "forged_result", "evidence": text}
            return [{"problems": [problem], "structure": text, "outputs": []}]
        records = self._baseline.outputs()
        if len(records) != len(draws):
            raise RequestRefused(
                "internal", f"the baseline ran {len(records)} of these {len(draws)} calls"
            )
        return [
            compare_timed(
                claim, buffer, output, relative=relative, absolute=absolute,
                honest=self._honest, expected=functools.partial(self._expected, draw),
            )
            for claim, output, draw in zip(claims, records, draws, strict=True)
        ]  # fmt: skip

    def _expected(self, draw: Draw) -> Expectation:
        """What is right for a draw; the least of the errors that the model makes are kept."""
        found = self._reference.expect(draw.inputs)
        errors = tuple(leaf.honest.max for leaf in found.leaves)
        known = self._honest or errors
        self._honest = tuple(map(min, errors, known))
        return found

    def _at_fresh_addresses(self, inputs: list[Any]) -> list[Any]:
        """Copies at fresh addresses, as a candidate gets its inputs; large ones as they are."""
        if shared_bytes(inputs) > _PADDED_LIMIT:
            return inputs

        def copied(tensor: Any) -> Any:
            self._pads.append(self._padding.pad(room_for(tensor)))
            return tensor.clone()

        found: list[Any] = mapped(inputs, copied)
        return found
