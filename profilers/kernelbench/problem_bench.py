"""One problem on one device: its model, its weights, the draws that are kept, the baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from profilers.children.serving import Refusal
from profilers.kernelbench.baseline import Baseline
from profilers.kernelbench.draws import Draw, Source, Unavailable
from profilers.kernelbench.exchange import Slab, Writer, aligned, room_for, slab_kind, spec_of
from profilers.kernelbench.gate import Gate
from profilers.kernelbench.honest import Reference, release
from profilers.kernelbench.judgement import compare_timed, compare_whole
from profilers.kernelbench.least_work import counted
from profilers.kernelbench.problem import Fault, Problem
from profilers.kernelbench.scatter import Scatter
from profilers.kernelbench.timed_runs import device_name
from profilers.kernelbench.trees import held_bytes, mapped, shape_text, tensors
from profilers.kernelbench.values import encode
from profilers.kernelbench.weights import Weights, derives_buffers

SendDescriptors = Callable[[Sequence[int]], None]
_SHARE = 0.85
_STALE_LIMIT = 256 * 2**20
_IDLE_LIMIT = 2**30
_SCATTERED_LIMIT = 2**30


class ProblemBench:
    """Handlers of the judge's requests; `send` hands over descriptors of shared memory."""

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
        self._device = device
        self._scatter = Scatter(torch.device(device_name(device)))
        self._pads: list[Any] = []
        self._send = send
        self._slabs: tuple[Slab, Slab] | None = None
        self._draws: dict[str, Draw] = {}
        self._forgotten: Draw | None = None
        tf32 = self._tf32 = policy.get("precision") == "tf32"
        problem = Problem(path, torch.device(device_name(device)))
        self._init = problem.init_inputs(seed)
        model = problem.model(seed)
        twin = problem.model(seed + 1) if derives_buffers(model) else None
        self._weights = Weights(model, twin)
        del twin
        self._weights.randomise(seed)
        self._reference = Reference(problem, model, tf32=tf32, room=self._room)
        first = problem.inputs(seed)
        self._source = Source(problem, self._reference, first)
        self._baseline = Baseline(self._reference, device, tf32=tf32)
        self.facts = self._facts(first)

    def slabs(self, request: dict[str, Any]) -> dict[str, Any]:
        """Make the memory that is shared with workers, and hand over its descriptors."""
        for slab in self._slabs or ():
            slab.close()
        self._slabs = None
        kind = slab_kind(self._device)
        ordinal = 0 if self._device == "cpu" else int(self._device)
        release()
        inputs = Slab.create(kind, request["inputs"], ordinal)
        try:
            outputs = Slab.create(kind, request["outputs"], ordinal)
        except BaseException:
            inputs.close()
            raise
        self._slabs = (inputs, outputs)
        self._write(lambda: encode(self._init, Writer(inputs)))
        self._send([inputs.fd, outputs.fd])
        return {"inputs": inputs.size, "outputs": outputs.size, "held_bytes": self._held()}

    def ceilings(self, _request: dict[str, Any]) -> dict[str, Any]:
        """The device's copy rate, read and written bytes counted."""
        return {"copy_gb_per_s": self._baseline.copy_gb_per_s()}

    def work(self, request: dict[str, Any]) -> dict[str, Any]:
        """What a call of the model must do at least."""
        inputs = self._source.given(request["seed"])
        told = counted(lambda: self._reference.run(inputs), tf32=self._tf32)
        release()
        names = ("input_bytes", "output_bytes", "weight_bytes")
        moved = sum(self.facts[name] for name in names) - self.facts["init_bytes"]
        return {"bytes": moved, **told}

    def gate(self, request: dict[str, Any]) -> dict[str, Any]:
        """Whether the problem is a fair task."""
        gate = Gate(
            self._reference,
            self._weights,
            self._source.given,
            seconds=float(request.get("seconds", 20.0)),
        )
        report = gate.report()
        release()
        return report.to_json()

    def weights(self, request: dict[str, Any]) -> dict[str, Any]:
        """Write the weights into the slab; under a seed, change them first, or a part of them."""
        if request["seed"] is not None:
            if request.get("part"):
                self._weights.mutate_part(request["seed"])
            else:
                self._weights.mutate(request["seed"])
            for draw in self._known():
                if draw.expectation is not None and draw.expectation.bytes <= _STALE_LIMIT:
                    draw.stale = draw.expectation
                draw.expectation = None
        # The constructor's tensors too: the last candidate could have written over them.
        self._write(lambda: encode(self._init, Writer(self._shared[0])))
        writer = Writer(self._shared[0], self.facts["init_bytes"])

        def place() -> dict[str, Any]:
            named = self._weights.named.items()
            return {name: writer(tensor.detach()).to_json() for name, tensor in named}

        return {"weights": self._write(place)}

    def draw(self, request: dict[str, Any]) -> dict[str, Any]:
        """Draw inputs and keep them; write them into the slab as well where `at` is given."""
        variation = request.get("variation", "given")
        try:
            draw = self._source.draw(request["seed"], variation)
        except Unavailable as reason:
            return {"available": str(reason), "inputs": None, "bytes": 0}
        size = sum(room_for(tensor) for _, tensor in tensors(draw.inputs))
        if request["at"] is None:
            self._draws[request["id"]] = draw
            return {"available": True, "inputs": None, "bytes": size, "held_bytes": self._held()}
        writer = Writer(self._shared[0], request["at"])
        size = sum(room_for(tensor) for _, tensor in tensors(draw.inputs))
        if writer.at + size > self._shared[0].size:
            text = f"{size} bytes of inputs at {writer.at} do not fit the shared memory"
            if variation == "given":
                raise Refusal("memory", text)
            return {"available": text, "inputs": None, "bytes": size}
        coded = self._write(lambda: encode(draw.inputs, writer))
        self._draws[request["id"]] = draw
        return {"available": True, "inputs": coded, "bytes": size, "held_bytes": self._held()}

    def place(self, request: dict[str, Any]) -> dict[str, Any]:
        """Write draws into the slab, each at its place."""
        slab = self._shared[0]

        def write() -> list[Any]:
            pairs = zip(request["ids"], request["at"], strict=True)
            return [encode(self._drawn(name).inputs, Writer(slab, at)) for name, at in pairs]

        return {"inputs": self._write(write)}

    def expect(self, request: dict[str, Any]) -> dict[str, Any]:
        """Compute what should come out for a draw, with the weights as they are."""
        draw = self._drawn(request["id"])
        draw.expectation = None
        draw.expectation = self._reference.expect(draw.inputs)
        self._trim()
        leaves = draw.expectation.leaves
        return {
            "outputs": [
                {"path": leaf.path, "shape": list(leaf.shape), "dtype": str(leaf.dtype)}
                for leaf in leaves
            ],
            "honest_rms": [leaf.honest.rms for leaf in leaves],
            "scale_rms": [leaf.scale for leaf in leaves],
            "oracle": draw.expectation.oracle,
            "held_bytes": self._held(),
        }

    def compare(self, request: dict[str, Any]) -> dict[str, Any]:
        """Compare a worker's outputs with what is expected for a draw."""
        draw = self._drawn(request["id"])
        if draw.expectation is None:
            draw.expectation = self._reference.expect(draw.inputs)
        others = [other for other in self._known() if other is not draw]
        relative, absolute = request["tolerance"]
        answer = compare_whole(
            request["outputs"],
            self._shared[1],
            draw,
            others,
            relative=relative,
            absolute=absolute,
        )
        self._trim()
        return answer

    def prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        """Have the baseline ready to run on so many draws."""
        draws = [self._drawn(name) for name in request["ids"]]
        self._pads = []
        self._baseline.prepare([self._scattered(draw.inputs) for draw in draws])
        return {"held_bytes": self._held()}

    def warm(self, _request: dict[str, Any]) -> dict[str, Any]:
        """Have the device raise its clocks."""
        self._baseline.warm()
        return {}

    def _scattered(self, inputs: list[Any]) -> list[Any]:
        """Copies at fresh addresses, as a candidate gets its inputs; large ones as they are."""
        total = sum(room_for(tensor) for _, tensor in tensors(inputs))
        if total > _SCATTERED_LIMIT:
            return inputs

        def copied(tensor: Any) -> Any:
            self._pads.append(self._scatter.pad(room_for(tensor)))
            return tensor.clone()

        found: list[Any] = mapped(inputs, copied)
        return found

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Time the baseline on what is prepared."""
        return {"events_us": self._baseline.run(flush=request["flush"])}

    def burn(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run the baseline again and again, for a meter to watch."""
        self._baseline.burn(request["calls"])
        return {"calls": request["calls"]}

    def compare_timed(self, request: dict[str, Any]) -> dict[str, Any]:
        """Compare a worker's timed outputs with those of the baseline's last run, call by call."""
        ids, claims = request["ids"], request["outputs"]
        if len(claims) != len(ids):
            text = f"outputs of {len(claims)} calls for {len(ids)} that were asked for"
            problem = {"cheat": "forged_result", "evidence": text}
            return {"calls": [{"problems": [problem], "structure": text, "outputs": []}]}
        shots = self._baseline.outputs()
        if len(shots) != len(ids):
            raise Refusal("internal", f"the baseline ran {len(shots)} of these {len(ids)} calls")
        known = self._drawn(ids[0]).expectation
        if self._baseline.errors is None:
            known = known or self._reference.expect(self._drawn(ids[0]).inputs)
            self._baseline.errors = tuple(leaf.honest for leaf in known.leaves)
        relative, absolute = request["tolerance"]
        calls = [
            compare_timed(
                claim,
                self._shared[1],
                output,
                self._baseline.errors,
                relative=2 * relative,
                absolute=2 * absolute,
            )
            for claim, output in zip(claims, shots, strict=True)
        ]
        self._trim()
        return {"calls": calls}

    def compiled(self, request: dict[str, Any]) -> dict[str, Any]:
        """Time `torch.compile` of the model as the baseline from now on, or the model itself."""
        return self._baseline.compile(self._source.given(1), wanted=request["wanted"])

    def forget(self, request: dict[str, Any]) -> dict[str, Any]:
        """Let go of draws and of all that was expected or timed on them.

        The last small one is kept: an output that is right for it was remembered.
        """
        self._baseline.drop()
        self._pads = []
        for name in request["ids"]:
            draw = self._draws.pop(name, None)
            if draw is not None and draw.expectation is not None:
                small = draw.bytes + draw.expectation.bytes <= _STALE_LIMIT
                self._forgotten = draw if small else None
        self._trim()
        return {"held_bytes": self._held()}

    def _known(self) -> list[Draw]:
        """Draws whose right outputs are known, or may be."""
        return [*self._draws.values(), *([self._forgotten] if self._forgotten else [])]

    def _facts(self, first: list[Any]) -> dict[str, Any]:
        self._reference.note_changed_inputs(first)
        output = self._reference.run(first)
        try:
            encode(output, spec_of)
            init = encode(self._init, _Packed())
            encode(first, spec_of)
        except ValueError as error:
            raise Fault(
                f"{error}: only tensors, numbers, texts, None, and lists, tuples and dicts of them "
                "pass between processes"
            ) from None
        init_bytes = sum(room_for(tensor) for _, tensor in tensors(self._init))
        weights = sum(room_for(tensor) for tensor in self._weights.named.values())
        return {
            "name": self._baseline.device_title,
            "parameters": list(self._weights.changing),
            "derived": list(self._weights.derived),
            "init": init,
            "init_bytes": init_bytes,
            "weight_bytes": init_bytes + weights,
            "input_bytes": sum(room_for(tensor) for _, tensor in tensors(first)),
            "output_bytes": sum(room_for(tensor) for _, tensor in tensors(output)),
            "inputs": [f"{path} {shape_text(tensor)}" for path, tensor in tensors(first)],
            "outputs": [f"output{path} {shape_text(one)}" for path, one in tensors(output)],
            "held_bytes": self._held(),
        }

    @property
    def _shared(self) -> tuple[Slab, Slab]:
        if self._slabs is None:
            raise Refusal("internal", "no shared memory was made")
        return self._slabs

    def _drawn(self, name: str) -> Draw:
        if name not in self._draws:
            raise Refusal("internal", f"there is no draw {name!r}")
        return self._draws[name]

    def _write(self, write: Callable[[], Any]) -> Any:
        """What `write` returns, once all it has put into a slab is there for other processes."""
        try:
            written = write()
        except ValueError as error:
            raise Refusal("memory", f"the shared memory: {error}") from None
        self._baseline.synchronize()
        return written

    def _room(self) -> int | None:
        """Bytes that may be taken at once; None on the host, where nobody can tell."""
        import torch

        if self._device == "cpu":
            return None
        free, _ = torch.cuda.mem_get_info()
        return int(_SHARE * (free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()))

    def _held(self) -> int:
        import torch

        shared = sum(slab.size for slab in self._slabs or ())
        if self._device != "cpu":
            return shared + int(torch.cuda.memory_reserved())
        weights = sum(held_bytes(tensor) for tensor in self._weights.named.values())
        return shared + weights + sum(draw.bytes for draw in self._draws.values())

    def _trim(self) -> None:
        """Give memory back that lies idle: the candidate's process shares the device."""
        import torch

        if self._device == "cpu":
            return
        if torch.cuda.memory_reserved() - torch.cuda.memory_allocated() > _IDLE_LIMIT:
            torch.cuda.empty_cache()


class _Packed:
    """A `Place` that only says where tensors would lie, one after another from byte 0."""

    def __init__(self) -> None:
        self._at = 0

    def __call__(self, tensor: Any) -> Any:
        spec = spec_of(tensor, self._at)
        self._at = aligned(spec.offset + spec.bytes)
        return spec
