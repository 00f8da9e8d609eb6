"""One problem open on one device; each of the judge's requests is a method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from profilers.children.protocol import RequestRefused
from profilers.kernelbench.oracle.baseline import Baseline, TimedBaseline
from profilers.kernelbench.oracle.claims import compare_whole
from profilers.kernelbench.oracle.comparison import compare_leaf
from profilers.kernelbench.oracle.draws import (
    Draw,
    DrawStore,
    InputSource,
    VariationUnavailable,
    is_centred,
)
from profilers.kernelbench.oracle.gate import TaskGate
from profilers.kernelbench.oracle.memory import DeviceMemory, SharedBuffers, shared_bytes
from profilers.kernelbench.oracle.problem_facts import count_work, problem_facts
from profilers.kernelbench.oracle.reference import Expectation, ReferenceModel, release_memory
from profilers.kernelbench.shared.problem import ProblemFile
from profilers.kernelbench.shared.recorded_calls import device_name
from profilers.kernelbench.shared.shared_memory import BufferWriter
from profilers.kernelbench.shared.trees import held_bytes, tensors
from profilers.kernelbench.shared.values import encode
from profilers.kernelbench.shared.weights import Weights, derives_buffers

Found = TypeVar("Found")
SendDescriptors = Callable[[Sequence[int]], None]
_EARLIER_BYTES = 2**30
"""Weights of up to so many bytes are kept from before they last changed."""


class OracleSession:
    """Handlers of the judge's requests; `send` passes on descriptors of shared memory."""

    def __init__(
        self,
        path: Path,
        *,
        device: int | str,
        policy: Mapping[str, Any],
        seed: int,
        send: SendDescriptors,
    ) -> None:
        import torch

        if device != "cpu":
            torch.cuda.set_device(device)
        tf32 = self._tf32 = policy.get("precision") == "tf32"
        problem = ProblemFile(path, torch.device(device_name(device)))
        self._init = problem.init_inputs(seed)
        model = problem.model(seed)
        other = problem.model(seed + 1) if derives_buffers(model) else None
        self._weights = Weights(model, other)
        del other
        self._weights.randomise(seed)
        self._earlier: dict[str, Any] | None = None
        self._memory = DeviceMemory(device)
        self._reference = ReferenceModel(problem, model, tf32=tf32, room=self._memory.room)
        first = problem.inputs(seed)
        self._source = InputSource(problem, self._reference, first)
        self._draws = DrawStore()
        self._baseline = Baseline(self._reference, device, tf32=tf32)
        self._timed = TimedBaseline(self._baseline, self._reference, device)
        self._shared = SharedBuffers(device, settle=self._baseline.synchronize)
        self._send = send
        with self._memory.measured():
            facts = problem_facts(self._reference, self._weights, init=self._init, first=first)
        self.facts = {
            "name": self._baseline.device_title, **facts, "held_bytes": self._held()
        }  # fmt: skip

    def buffers(self, request: dict[str, Any]) -> dict[str, Any]:
        """Make the memory that is shared with workers, and send its descriptors."""
        self._memory.in_turns = request["in_turns"]
        self._shared.make(request["inputs"], request["outputs"])
        inputs, outputs = self._shared.inputs, self._shared.outputs
        self._shared.write(lambda: encode(self._init, BufferWriter(inputs)))
        self._send([inputs.fd, outputs.fd])
        return {"inputs": inputs.size, "outputs": outputs.size, "held_bytes": self._held()}

    def ceilings(self, _request: dict[str, Any]) -> dict[str, Any]:
        """The device's copy rate; bytes read and written are both counted."""
        return {"copy_gb_per_s": self._baseline.copy_gb_per_s()}

    def work(self, request: dict[str, Any]) -> dict[str, Any]:
        """What a call of the model must do at least."""
        inputs = self._source.given(request["seed"])
        told = count_work(lambda: self._reference.run(inputs), tf32=self._tf32)
        release_memory()
        names = ("input_bytes", "output_bytes", "weight_bytes")
        moved = sum(self.facts[name] for name in names) - self.facts["init_bytes"]
        return {"bytes": moved, "written": self.facts["output_bytes"], **told}

    def steps(self, request: dict[str, Any]) -> dict[str, Any]:
        """The operations of a call of the model."""
        inputs = self._source.given(request["seed"])
        found = self._reference.steps(inputs)
        release_memory()
        return {"steps": found}

    def gate(self, request: dict[str, Any]) -> dict[str, Any]:
        """Whether the problem is a fair task."""
        gate = TaskGate(
            self._reference,
            self._weights,
            self._source.given,
            seconds=float(request.get("seconds", 20.0)),
        )
        report = gate.report()
        release_memory()
        return report.to_json()

    def weights(self, request: dict[str, Any]) -> dict[str, Any]:
        """Write the weights into the buffer; under a seed, change them first, or a part of them."""
        if request["seed"] is not None:
            self._earlier = _if_there_is_room(lambda: self._weights.copied(_EARLIER_BYTES))
            if request.get("part"):
                self._weights.mutate_part(request["seed"], strength=request["strength"])
            else:
                self._weights.mutate(request["seed"])
            self._draws.outdate()
            self._timed.outdate()
        # The constructor's tensors as well: the last candidate could have overwritten them.
        self._shared.write(lambda: encode(self._init, BufferWriter(self._shared.inputs)))
        writer = BufferWriter(self._shared.inputs, self.facts["init_bytes"])

        def place() -> dict[str, Any]:
            named = self._weights.named.items()
            return {name: writer(tensor.detach()).to_json() for name, tensor in named}

        return {"weights": self._shared.write(place)}

    def draw(self, request: dict[str, Any]) -> dict[str, Any]:
        """Draw inputs and keep them; if `at` is given, write them into the buffer as well."""
        variation = request.get("variation", "given")
        try:
            draw = self._source.draw(request["seed"], variation)
        except VariationUnavailable as reason:
            return {"available": str(reason), "inputs": None, "bytes": 0}
        size = shared_bytes(draw.inputs)
        if request["at"] is None:
            self._draws[request["id"]] = draw
            return {"available": True, "inputs": None, "bytes": size, "held_bytes": self._held()}
        writer = BufferWriter(self._shared.inputs, request["at"])
        if writer.at + size > self._shared.inputs.size:
            text = f"{size} bytes of inputs at {writer.at} do not fit the shared memory"
            if variation == "given":
                raise RequestRefused("memory", text)
            return {"available": text, "inputs": None, "bytes": size}
        coded = self._shared.write(lambda: encode(draw.inputs, writer))
        draw.shown = True
        self._draws[request["id"]] = draw
        return {"available": True, "inputs": coded, "bytes": size, "held_bytes": self._held()}

    def draw_calls(self, request: dict[str, Any]) -> dict[str, Any]:
        """Draw inputs as the problem does, for calls to be timed, each under a seed; keep them."""
        for name, seed in zip(request["ids"], request["seeds"], strict=True):
            self._draws[name] = self._source.draw(seed, "given")
        return {"held_bytes": self._held()}

    def place(self, request: dict[str, Any]) -> dict[str, Any]:
        """Write draws into the buffer, each at its offset."""
        buffer = self._shared.inputs
        for name in request["ids"]:
            self._draws[name].shown = True

        def write() -> list[Any]:
            pairs = zip(request["ids"], request["at"], strict=True)
            return [
                encode(self._draws[name].inputs, BufferWriter(buffer, at)) for name, at in pairs
            ]

        return {"inputs": self._shared.write(write)}

    def expect(self, request: dict[str, Any]) -> dict[str, Any]:
        """Compute the expected outputs of a draw with the current weights.

        With `stale`, limits of a comparison, also whether the outputs before the weights last
        changed would fail it.
        """
        draw = self._draws[request["id"]]
        draw.expectation = None
        draw.expectation = self._reference.expect(
            draw.inputs,
            conditioned=request.get("conditioned", False),
            alike=request.get("alike", False),
        )
        self._memory.trim()
        leaves = draw.expectation.leaves
        return {
            "outputs": [
                {"path": leaf.path, "shape": list(leaf.shape), "dtype": str(leaf.dtype)}
                for leaf in leaves
            ],
            "honest_rms": [leaf.honest.rms for leaf in leaves],
            "honest_wrong": [leaf.honest.wrong for leaf in leaves],
            "scale_rms": [leaf.scale for leaf in leaves],
            "oracle": draw.expectation.oracle,
            "centred": self._tf32 and is_centred(draw.inputs),
            "stale_differs": self._stale_differs(draw, request.get("stale")),
            "held_bytes": self._held(),
        }

    def _stale_differs(self, draw: Draw, limits: Mapping[str, Any] | None) -> bool | None:
        """Whether what the model gave before its weights last changed would be taken for wrong.

        None if that is not asked, or cannot be told for want of memory.
        """
        if limits is None or self._earlier is None or draw.expectation is None:
            return None
        stale = _if_there_is_room(lambda: self._run_earlier(draw))
        if stale is None:
            return None
        relative, absolute = limits["tolerance"]
        pairs = zip(tensors(stale), draw.expectation.leaves, strict=True)
        found = [
            compare_leaf(tensor, leaf, relative=relative, absolute=absolute)
            for (_, tensor), leaf in pairs
        ]
        return any(
            one["mismatches"] or (one["error_ratio"] or 0.0) > limits["error_ratio"]
            for one in found
        )

    def compare(self, request: dict[str, Any]) -> dict[str, Any]:
        """Compare a worker's outputs with what is expected for a draw.

        Wrong ones are also compared with what is right for the weights before they last changed.
        """
        draw = self._draws[request["id"]]
        if draw.expectation is None:
            draw.expectation = self._reference.expect(draw.inputs)
        answer = self._compared(request, draw)
        wrong = any(output["mismatches"] for output in answer["outputs"])
        if wrong and not answer["problems"] and draw.stale is None and self._earlier is not None:
            draw.stale = _if_there_is_room(lambda: self._expected_earlier(draw))
            answer = self._compared(request, draw)
        self._memory.trim()
        return answer

    def _expected_earlier(self, draw: Draw) -> Expectation:
        assert self._earlier is not None
        with self._weights.as_in(self._earlier):
            return self._reference.expect(draw.inputs)

    def _run_earlier(self, draw: Draw) -> Any:
        assert self._earlier is not None
        with self._weights.as_in(self._earlier):
            return self._reference.run(draw.inputs)

    def _compared(self, request: dict[str, Any], draw: Draw) -> dict[str, Any]:
        relative, absolute = request["tolerance"]
        return compare_whole(
            request["outputs"],
            self._shared.outputs,
            draw,
            self._draws.others(draw),
            relative=relative,
            absolute=absolute,
        )

    def prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        """Prepare the baseline to run on the given draws."""
        self._timed.prepare([self._draws[name] for name in request["ids"]])
        return {"held_bytes": self._held()}

    def warm(self, _request: dict[str, Any]) -> dict[str, Any]:
        """Have the device raise its clocks."""
        self._baseline.warm()
        return {}

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Time the baseline on what is prepared; with `eager`, the model as it is written."""
        eager = request.get("eager", False)
        return {"events_us": self._baseline.run(flush=request["flush"], eager=eager)}

    def burn(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run the baseline many times, for an energy measurement."""
        self._baseline.burn(request["calls"])
        return {"calls": request["calls"]}

    def compare_timed(self, request: dict[str, Any]) -> dict[str, Any]:
        """Compare a worker's timed outputs with those of the baseline's last run, call by call.

        What differs is compared with what is right in float64, as it was when it differed.
        """
        relative, absolute = request["tolerance"]
        calls = self._timed.compare(
            request["outputs"],
            self._shared.outputs,
            [self._draws[name] for name in request["ids"]],
            relative=relative,
            absolute=absolute,
        )
        self._memory.trim()
        return {"calls": calls}

    def compiled(self, request: dict[str, Any]) -> dict[str, Any]:
        """Time `torch.compile` of the model as the baseline from now on, or the model itself."""
        return self._baseline.compile(self._source.given(1), wanted=request["wanted"])

    def forget(self, request: dict[str, Any]) -> dict[str, Any]:
        """Drop draws and what was expected or timed on them.

        The last small one is kept, to recognise an output that was stored for it.
        """
        self._timed.drop()
        self._draws.forget(request["ids"])
        self._memory.trim()
        return {"held_bytes": self._held()}

    def _held(self) -> int:
        """Bytes of memory that this process holds for the problem."""
        reserved = self._memory.reserved()
        if reserved is None:
            reserved = self._draws.bytes
            reserved += sum(held_bytes(tensor) for tensor in self._weights.named.values())
        return self._shared.bytes + reserved


def _if_there_is_room(make: Callable[[], Found]) -> Found | None:
    """What is made; None if the device has no memory for it, since no verdict depends on it."""
    import torch

    try:
        return make()
    except torch.OutOfMemoryError:
        release_memory()
        return None
