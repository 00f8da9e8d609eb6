"""The candidates' process on the device of numpy and sleep: forks, like PyTorch's, one for each."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from profilers.children.forking import ForkContext, serve_forks
from profilers.children.protocol import RequestRefused
from profilers.children.serving import Handler
from profilers.kernelbench.worker.importing import set_environment
from tests.support.fake_device import device
from tests.support.fake_device.memory import FakeBuffer, coded, specs_of


class Worker:
    def __init__(self, context: ForkContext) -> None:
        self._context = context
        self.inputs: FakeBuffer
        self.outputs: FakeBuffer
        self.model: Any = None
        self.calls: list[Any] = []
        self.results: list[tuple[Any, Any]] = []

    def start(self, request: dict[str, Any]) -> dict[str, Any]:
        first, second = self._context.descriptors.receive(2, timeout_s=10.0)
        self.inputs = FakeBuffer(first, request["inputs"])
        self.outputs = FakeBuffer(second, request["outputs"])
        return {}

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        set_environment(request.get("environment", {}))
        space: dict[str, Any] = {"np": np, "device": device, "__name__": request["module"]}
        try:
            exec(compile(Path(request["path"]).read_text(), request["path"], "exec"), space)
        except SyntaxError as error:
            raise RequestRefused("compile", f"SyntaxError: {error}") from None
        if "ModelNew" not in space:
            raise RequestRefused("contract", "the file defines no ModelNew")
        self.model = space["ModelNew"](np.random.default_rng(request["seed"]))
        return self.weights(request)

    def weights(self, request: dict[str, Any]) -> dict[str, Any]:
        if not hasattr(self.model, "weight"):
            raise RequestRefused("contract", "ModelNew has no weight called weight")
        self.model.weight[...] = self.inputs.get(request["weights"]["weight"])
        return {"problems": [], "extra": []}

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        result = self._forward(self._arrays(request["inputs"]))
        prompt = coded(self.outputs.put([result], request["at"]))
        device.synchronize()
        late = coded(self.outputs.put([result], request["late_at"]))
        return {"outputs": prompt, "late": late, "problems": [], "us": 1.0, "refused": None}

    def prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        self.calls = [self._arrays(inputs) for inputs in request["calls"]]
        return {}

    def run(self, _request: dict[str, Any]) -> dict[str, Any]:
        times, self.results = [], []
        for arrays in self.calls:
            begin = time.perf_counter()
            result = self._forward(arrays)
            times.append((time.perf_counter() - begin) * 1e6)
            self.results.append((result, np.copy(result)))
        device.synchronize()
        return {"events_us": times}

    def idle(self, _request: dict[str, Any]) -> dict[str, Any]:
        return {"events_us": [1e-3] * len(self.calls)}

    def fetch(self, request: dict[str, Any]) -> dict[str, Any]:
        at, outputs, changed = request["at"], [], False
        for result, copy in self.results:
            specs = self.outputs.put([np.asarray(result)], at)
            at = specs[-1]["offset"] + -(-specs[-1]["bytes"] // 256) * 256
            outputs.append(coded(specs))
            changed |= not np.array_equal(result, copy)
        problems = [{"cheat": "batched_calls", "evidence": "changed after return"}]
        return {"outputs": outputs, "problems": problems if changed else []}

    def warm(self, _request: dict[str, Any]) -> dict[str, Any]:
        return {}

    def burn(self, request: dict[str, Any]) -> dict[str, Any]:
        for index in range(request["calls"]):
            self._forward(self.calls[index % len(self.calls)])
        device.synchronize()
        return {}

    def build(self, _request: dict[str, Any]) -> dict[str, Any]:
        return {"seconds": 0.0, "log": ""}

    def probe(self, _request: dict[str, Any]) -> dict[str, Any]:
        return {}

    def _arrays(self, inputs: Any) -> list[Any]:
        return [self.inputs.get(spec) for spec in specs_of(inputs)]

    def _forward(self, arrays: list[Any]) -> Any:
        try:
            return self.model(*arrays)
        except Exception as error:  # noqa: BLE001 - the boundary to foreign code
            raise RequestRefused("runtime", f"{type(error).__name__}: {error}") from None


def make_handlers(context: ForkContext) -> dict[str, Handler]:
    worker = Worker(context)
    names = (
        "start", "load", "weights", "call", "prepare", "run", "idle", "fetch", "burn", "warm",
        "build", "probe",
    )  # fmt: skip
    return {name: getattr(worker, name) for name in names}


if __name__ == "__main__":
    serve_forks(make_handlers)
