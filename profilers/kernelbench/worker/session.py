"""A candidate on a device: loaded, called, timed, and checked after every request.

What is used here is bound before the candidate's code runs. Verified and timed calls are made in
the same way, by `TimedRuns`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from profilers.children.protocol import RequestRefused
from profilers.kernelbench.shared.recorded_calls import RecordedCall, device_name, same_bytes
from profilers.kernelbench.shared.shared_memory import BufferWriter, SharedBuffer
from profilers.kernelbench.shared.timed_runs import AddressPadding, TimedRuns
from profilers.kernelbench.shared.values import TensorSpec, decode
from profilers.kernelbench.worker import guards
from profilers.kernelbench.worker.candidate import LoadedCandidate
from profilers.kernelbench.worker.guards import Evidence
from profilers.kernelbench.worker.importing import set_environment
from profilers.kernelbench.worker.module_times import module_times
from profilers.kernelbench.worker.tracing import events_of, kernels_of


class WorkerSession:
    """A device, two shared buffers, and the candidate that runs there.

    `reserve_bytes` are taken at once, and kept; with `in_turns` they are taken before inputs are
    made, and given back once the outputs are handed over, so that another process has them.
    """

    def __init__(
        self,
        device: int | str,
        *,
        inputs: SharedBuffer,
        outputs: SharedBuffer,
        reserve_bytes: int = 0,
        in_turns: bool = False,
    ) -> None:
        import torch

        self._inputs, self._outputs = inputs, outputs
        self._device = torch.device(device_name(device))
        self._runs = TimedRuns(device)
        self._reserve_bytes, self._in_turns = reserve_bytes, in_turns
        self._give_back = torch.cuda.empty_cache
        if not in_turns:
            self._runs.reserve(reserve_bytes)
        self._padding = AddressPadding(self._device)
        self._inputs_of_calls: list[CallInputs] = []
        self._in_front: Any = None
        self._candidate: LoadedCandidate | None = None
        self._threads = guards.Threads()
        self._bindings = guards.Bindings(self._runs.clock)

    @property
    def candidate(self) -> LoadedCandidate:
        if self._candidate is None or self._candidate.model is None:
            raise RequestRefused("internal", "no candidate was loaded")
        return self._candidate

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Execute the file, construct the model and give it the reference's weights."""
        self._only_without_candidate()
        set_environment(request.get("environment", {}))
        begin = time.perf_counter()
        candidate = LoadedCandidate(Path(request["path"]), request["module"], self._runs.clock)
        self._candidate = candidate
        module = candidate.execute()
        init = decode(request["init"], self._inputs.fresh)
        candidate.construct(module, init, seed=request["seed"], device=self._device)
        self.weights(request)
        own = candidate.weights()
        self._threads.take_as_usual()
        return {
            "parameters": sum(tensor.numel() for tensor in candidate.model.parameters()),
            "extra": sorted(own.keys() - request["weights"].keys()),
            "seconds": time.perf_counter() - begin,
            "threads": self._threads.counts(),
            "problems": self._problems(),
        }

    def weights(self, request: dict[str, Any]) -> dict[str, Any]:
        """Copy weights in place, by name."""
        specs = {name: TensorSpec.from_json(data) for name, data in request["weights"].items()}
        self.candidate.copy_weights({n: self._inputs.tensor(spec) for n, spec in specs.items()})
        self._runs.clock.synchronize()
        return {}

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """One call, made like a timed one; its outputs right behind it, and after a wait."""
        candidate = self.candidate
        self._begin_turn()
        inputs = self._make_inputs(request["inputs"])
        self._inputs_of_calls = [inputs]
        self._runs.clock.synchronize()
        try:
            with candidate.boundary("runtime"):
                record = self._runs.once(candidate.model, inputs.arguments, flush=True)
        except RequestRefused as refusal:
            if request.get("may_refuse") and refusal.kind in ("runtime", "memory"):
                self._end_turn()
                return {"outputs": None, "late": None, "problems": self._problems(),
                        "us": None, "refused": str(refusal)}  # fmt: skip
            raise
        with candidate.boundary("runtime"):
            reply = self._reply_of(record, inputs, request)
        del record, inputs
        self._end_turn()
        return reply

    def warm(self, _request: dict[str, Any]) -> dict[str, Any]:
        """Have the device raise its clocks; there are no inputs yet."""
        self._runs.drop()
        self._inputs_of_calls = []
        self._runs.warm()
        return {}

    def prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        """Make fresh inputs for every call that will be timed."""
        self._prepare(request["calls"])
        return {}

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Call the model on all prepared inputs; the answer is sent at once."""
        candidate = self.candidate
        with candidate.boundary("runtime"):
            times = self._runs.run(
                candidate.model, flush=request["flush"], repeats=request.get("repeats", 1)
            )
        return {"events_us": times}

    def idle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Repeat the last run's calls without the model: copies of the same outputs alone, behind
        a wait for the device if asked for.
        """
        with self.candidate.boundary("runtime"):
            return {"events_us": self._runs.idle(waits=request.get("waits", False))}

    def fetch(self, request: dict[str, Any]) -> dict[str, Any]:
        """Outputs of every call of the last run, as they were right behind each call."""
        with self.candidate.boundary("runtime"):
            reply = self._fetch(request["at"])
        self._end_turn()
        return reply

    def burn(self, request: dict[str, Any]) -> dict[str, Any]:
        """Many calls in a row with nothing in between, for an energy measurement."""
        with self.candidate.boundary("runtime"):
            self._runs.burn(self.candidate.model, request["calls"])
        return {"calls": request["calls"]}

    def trace(self, request: dict[str, Any]) -> dict[str, Any]:
        """Which kernels a call runs; none on the CPU."""
        self._begin_turn()
        self._inputs_of_calls = [self._make_inputs(request["inputs"])]
        if not self._runs.on_device:
            return {"kernels": []}
        with self.candidate.boundary("runtime"):
            found = kernels_of(
                lambda: self._runs.once(
                    self.candidate.model, self._inputs_of_calls[0].arguments, flush=False
                )
            )
        self._end_turn()
        return {"kernels": found}

    def record(self, request: dict[str, Any]) -> dict[str, Any]:
        """A trace of several warm calls in a row: what they do on the device, and when."""
        self._begin_turn()
        self._inputs_of_calls = [self._make_inputs(request["inputs"])]
        self._runs.prepare([self._inputs_of_calls[0].arguments])
        if not self._runs.on_device:
            raise RequestRefused("internal", "there is no device to trace")
        model, calls = self.candidate.model, request["calls"]
        with self.candidate.boundary("runtime"):
            self._runs.burn(model, calls)
            return {"trace": events_of(lambda: self._runs.burn(model, calls))}

    def modules(self, _request: dict[str, Any]) -> dict[str, Any]:
        """How long each submodule takes in calls on the inputs of the last `record`."""
        model = self.candidate.model
        with self.candidate.boundary("runtime"):
            return module_times(model, lambda: self._runs.enqueue(model), self._runs.clock)

    def _reply_of(
        self, record: RecordedCall, inputs: CallInputs, request: Mapping[str, Any]
    ) -> dict[str, Any]:
        problems = self._output_problems([record])
        answer = {"outputs": None, "late": None, "us": record.us, "refused": None}
        if not problems:
            answer["outputs"] = _coded(record, BufferWriter(self._outputs, request["at"]))
            threads = self._threads.foreign
            self._threads.settle()
            self._runs.clock.synchronize()
            late = BufferWriter(self._outputs, request["late_at"])
            answer["late"] = _coded(record.as_it_is(), late)
            problems += guards.late_problem(record.changed(), threads=threads, calls=1)
        problems += inputs.problems(self._inputs) + self._problems()
        self._runs.clock.synchronize()
        return {**answer, "threads": self._threads.counts(), "problems": problems}

    def _fetch(self, at: int) -> dict[str, Any]:
        problems = self._output_problems(self._runs.records)
        outputs: list[Any] = []
        if not problems:
            writer = BufferWriter(self._outputs, at)
            outputs = [_coded(record, writer) for record in self._runs.records]
            problems += guards.late_problem(
                self._runs.changed(), threads=self._threads.foreign, calls=len(self._runs.records)
            )
        for inputs in self._inputs_of_calls:
            problems += inputs.problems(self._inputs)
        problems += self._problems()
        self._runs.clock.synchronize()
        return {"outputs": outputs, "threads": self._threads.counts(), "problems": problems}

    def _prepare(self, calls: Sequence[Any]) -> None:
        self._inputs_of_calls = []
        self._begin_turn()
        self._inputs_of_calls = [self._make_inputs(coded) for coded in calls]
        self._runs.prepare([inputs.arguments for inputs in self._inputs_of_calls])

    def _begin_turn(self) -> None:
        """RequestRefused "memory" if another process has not given back what this one needs."""
        self._runs.drop()
        if not self._in_turns:
            return
        self._drop_inputs()
        with _memory_refused():
            self._runs.reserve(self._reserve_bytes, needed=True)
            self._in_front = self._padding.block()

    def _end_turn(self) -> None:
        if self._in_turns:
            self._runs.drop()
            self._drop_inputs()
            self._give_back()

    def _drop_inputs(self) -> None:
        self._inputs_of_calls = []
        self._in_front = None

    def _make_inputs(self, coded: Any) -> CallInputs:
        """Make fresh inputs; blocks of random sizes between them keep addresses from recurring."""
        pads = []
        tensors: list[tuple[TensorSpec, Any]] = []

        def take(spec: TensorSpec) -> Any:
            pads.append(self._padding.pad(spec.bytes))
            made = self._inputs.fresh(spec)
            tensors.append((spec, made))
            return made

        with _memory_refused():
            arguments = decode(coded, take)
        if not isinstance(arguments, (list, tuple)):
            raise RequestRefused("internal", "the inputs of a call are a list")
        return CallInputs(arguments, tensors, pads)

    def _output_problems(self, records: Sequence[RecordedCall]) -> list[Evidence]:
        for record in records:
            if found := guards.output_problems(record, self._device, self._runs.clock):
                return found
        return []

    def _problems(self) -> list[Evidence]:
        """Evidence of what the candidate changed in this process since the last check."""
        found = self._bindings.problems() + guards.mode_problems()
        runs = self._runs
        if runs.moved_stream:
            text = "another stream was left current, on which what follows would wait for nothing"
            found.append(guards.problem("side_stream", text))
        if runs.persisting_bytes:
            text = f"{runs.persisting_bytes} bytes of L2 were set aside for data that stays"
            found.append(guards.problem("cache_persistence", text))
        runs.moved_stream, runs.persisting_bytes = False, 0
        return found

    def _only_without_candidate(self) -> None:
        if self._candidate is not None:
            raise RequestRefused("internal", "a candidate is there already; one worker holds one")


@contextmanager
def _memory_refused() -> Iterator[None]:
    """Turn a lack of memory inside into a refusal: it is not this process that is broken."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise RequestRefused("memory", f"the device has no room: {error}") from error


class CallInputs:
    """The inputs of one call, and where their content came from."""

    def __init__(
        self, arguments: Sequence[Any], tensors: list[tuple[TensorSpec, Any]], pads: list[Any]
    ) -> None:
        self.arguments = arguments
        self._tensors = tensors
        self._pads = pads

    def problems(self, buffer: SharedBuffer) -> list[Evidence]:
        """Evidence of inputs whose content has changed."""
        changed = [
            index
            for index, (spec, tensor) in enumerate(self._tensors)
            if not same_bytes(tensor, buffer.tensor(spec))
        ]
        if not changed:
            return []
        return [guards.problem("input_mutation", f"input tensor {changed[0]} was changed")]


def _coded(record: RecordedCall, writer: BufferWriter) -> Any:
    try:
        return record.coded(writer)
    except ValueError as error:
        raise RequestRefused(
            "runtime", f"what forward returned cannot be compared: {error}"
        ) from None
