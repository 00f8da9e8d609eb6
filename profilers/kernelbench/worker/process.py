"""The process that holds one candidate: the requests that it answers.

Whatever it answers is a claim; the judge has its own clock and comparison elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from profilers.children.protocol import RequestRefused
from profilers.children.serving import Handler
from profilers.kernelbench.shared.recorded_calls import device_name
from profilers.kernelbench.shared.shared_memory import SharedBuffer, buffer_kind
from profilers.kernelbench.worker.compiled_binaries import disassemble
from profilers.kernelbench.worker.importing import build
from profilers.kernelbench.worker.session import WorkerSession

ReceiveDescriptors = Callable[[int], Sequence[int]]


class WorkerHandlers:
    """Handlers of the judge's requests; each returns the JSON of its answer.

    `receive` returns the descriptors of the two buffers, inputs first.
    """

    def __init__(self, receive: ReceiveDescriptors) -> None:
        self._receive = receive
        self._session: WorkerSession | None = None

    def handlers(self) -> dict[str, Handler]:
        """By the names of the operations."""
        return {
            "start": self.start,
            "build": build,
            "load": lambda request: self.session.load(request),
            "weights": lambda request: self.session.weights(request),
            "call": lambda request: self.session.call(request),
            "warm": lambda request: self.session.warm(request),
            "prepare": lambda request: self.session.prepare(request),
            "run": lambda request: self.session.run(request),
            "idle": lambda request: self.session.idle(request),
            "fetch": lambda request: self.session.fetch(request),
            "burn": lambda request: self.session.burn(request),
            "trace": lambda request: self.session.trace(request),
            "record": lambda request: self.session.record(request),
            "modules": lambda request: self.session.modules(request),
            "disassemble": disassemble,
            "probe": self.probe,
        }

    def start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Take the device and the shared memory, before any foreign code is loaded."""
        device = request["device"]
        if device != "cpu":
            import torch

            torch.cuda.set_device(device)
            torch.zeros(1, device=device_name(device))
        first, second = self._receive(2)
        ordinal = 0 if device == "cpu" else device
        kind = buffer_kind(device)
        self._session = WorkerSession(
            device,
            inputs=SharedBuffer.attach(kind, first, request["inputs"], ordinal),
            outputs=SharedBuffer.attach(kind, second, request["outputs"], ordinal),
            reserve_bytes=request.get("reserve_bytes", 0),
            in_turns=request.get("in_turns", False),
        )
        return {}

    def probe(self, request: dict[str, Any]) -> dict[str, Any]:
        """Use the device, to see whether it answers a process that has run no candidate."""
        import torch

        device = device_name(request["device"])
        return {"sum": float(torch.ones(1024, device=device).sum())}

    @property
    def session(self) -> WorkerSession:
        if self._session is None:
            raise RequestRefused("internal", "the worker was not started", sticky=True)
        return self._session
