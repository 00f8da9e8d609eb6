"""The reference's process on the device of numpy and sleep."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from profilers.children.descriptors import DescriptorSocket
from profilers.children.protocol import RequestRefused
from profilers.children.serving import Handler, serve
from tests.support.fake_device.memory import FakeBuffer, coded, specs_of


class Oracle:
    def __init__(self) -> None:
        self.inputs: FakeBuffer
        self.outputs: FakeBuffer
        self.held: dict[str, Any] = {}
        self.expected: dict[str, Any] = {}
        self.earlier: Any = None
        self.order: list[str] = []
        self.results: list[Any] = []

    def start(self, request: dict[str, Any]) -> dict[str, Any]:
        space: dict[str, Any] = {"np": np}
        exec(Path(request["problem"]).read_text(), space)
        self.space = space
        self.model = space["Model"](np.random.default_rng(request["seed"]))
        x = space["get_inputs"](np.random.default_rng(0))
        y = self.model(*x)
        return {
            "name": "numpy", "parameters": ["weight"], "init": {"list": []},
            "input_bytes": sum(a.nbytes for a in x), "output_bytes": y.nbytes,
            "weight_bytes": self.model.weight.nbytes, "inputs": [], "outputs": [],
        }  # fmt: skip

    def buffers(self, request: dict[str, Any]) -> dict[str, Any]:
        self.inputs, self.outputs = (
            FakeBuffer.create(request["inputs"]),
            FakeBuffer.create(request["outputs"]),
        )
        channel = DescriptorSocket.from_arguments()
        assert channel is not None
        channel.send([self.inputs.fd, self.outputs.fd])
        return {"inputs": self.inputs.size, "outputs": self.outputs.size}

    def gate(self, _request: dict[str, Any]) -> dict[str, Any]:
        first = self.model(*self.space["get_inputs"](np.random.default_rng(1)))
        second = self.model(*self.space["get_inputs"](np.random.default_rng(2)))
        return {"refusals": ["its output is constant"] if np.array_equal(first, second) else [],
                "marks": []}  # fmt: skip

    def weights(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["seed"] is not None:
            self.expected, self.earlier = {}, self.model.weight
            rng = np.random.default_rng(request["seed"])
            fresh = rng.normal(size=self.model.weight.shape).astype(self.model.weight.dtype)
            if request["part"]:
                row = request["seed"] % len(fresh)
                changed = self.earlier[row] + request["strength"] * fresh[row]
                fresh = self.earlier.copy()
                fresh[row] = changed
            self.model.weight = fresh
        return {"weights": {"weight": self.inputs.put([self.model.weight], 0)[0]}}

    def draw(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["variation"] == "batch":
            return {"available": "the batch is fixed"}
        if request["variation"] in ("beyond:tiny", "beyond:denormal"):
            return {"available": "its numbers are not so small"}
        arrays = self.space["get_inputs"](np.random.default_rng(request["seed"]))
        if request["variation"] == "scaled":
            arrays = [array * np.float32(4) for array in arrays]
        if request["variation"].startswith("beyond:"):
            arrays = [array * np.float32(1e-3) for array in arrays]
        self.held[request["id"]] = arrays
        if request["at"] is None:
            size = sum(array.nbytes for array in arrays)
            return {"available": True, "inputs": None, "bytes": size}
        return {"available": True, "inputs": coded(self.inputs.put(arrays, request["at"]))}

    def draw_calls(self, request: dict[str, Any]) -> dict[str, Any]:
        for name, seed in zip(request["ids"], request["seeds"], strict=True):
            self.draw({"id": name, "seed": seed, "variation": "given", "at": None})
        return {}

    def place(self, request: dict[str, Any]) -> dict[str, Any]:
        pairs = zip(request["ids"], request["at"], strict=True)
        return {"inputs": [coded(self.inputs.put(self.held[name], at)) for name, at in pairs]}

    def expect(self, request: dict[str, Any]) -> dict[str, Any]:
        exact = self.expected[request["id"]] = self._exact(request["id"])
        scale = float(np.sqrt(np.mean(exact**2)))
        return {"oracle": "float64", "outputs": [{"dtype": "torch.float32"}], "honest_wrong": [0],
                "honest_rms": [1e-7 * scale], "scale_rms": [scale],
                "centred": False, "stale_differs": self._stale_differs(request)}  # fmt: skip

    def _stale_differs(self, request: dict[str, Any]) -> bool | None:
        limits = request.get("stale")
        if limits is None:
            return None
        relative, absolute = limits["tolerance"]
        exact = self.expected[request["id"]]
        now, self.model.weight = self.model.weight, self.earlier
        stale = self._exact(request["id"])
        self.model.weight = now
        return bool((np.abs(stale - exact) > absolute + relative * np.abs(exact)).any())

    def compare(self, request: dict[str, Any]) -> dict[str, Any]:
        name, outputs = request["id"], request["outputs"]
        found = self._compared(outputs, self.expected[name], request)
        wrong = any(one["mismatches"] for one in found["outputs"])
        if wrong and self.earlier is not None:
            now, self.model.weight = self.model.weight, self.earlier
            kept = self._compared(outputs, self._exact(name), request)
            self.model.weight = now
            if not kept["outputs"][0]["mismatches"]:
                problem = {"cheat": "cached_weights", "evidence": "right for the weights before"}
                return {**found, "problems": [problem]}
        return found

    def prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        self.order = request["ids"]
        return {}

    def run(self, _request: dict[str, Any]) -> dict[str, Any]:
        times, self.results = [], []
        for name in self.order:
            begin = time.perf_counter()
            self.results.append(self.model(*self.held[name]))
            times.append((time.perf_counter() - begin) * 1e6)
        return {"events_us": times}

    def compare_timed(self, request: dict[str, Any]) -> dict[str, Any]:
        return {
            "calls": [
                self._compared(outputs, self._exact(name), request)
                for name, outputs in zip(request["ids"], request["outputs"], strict=True)
            ]
        }

    def forget(self, request: dict[str, Any]) -> dict[str, Any]:
        for name in request["ids"]:
            self.held.pop(name, None)
            self.expected.pop(name, None)
        return {}

    def _exact(self, name: str) -> Any:
        return self.model.exact(*[a.astype(np.float64) for a in self.held[name]])

    def _compared(self, data: Any, expected: Any, request: dict[str, Any]) -> dict[str, Any]:
        specs = specs_of(data)
        if len(specs) != 1 or specs[0]["shape"] != list(expected.shape):
            return {"structure": "not the shape that is expected", "outputs": []}
        found = self.outputs.get(specs[0]).astype(np.float64)
        relative, absolute = request["tolerance"]
        error = np.abs(found - expected)
        wrong = ~(error <= absolute + relative * np.abs(expected))
        scale = float(np.sqrt(np.mean(expected**2)))
        floor = np.finfo(np.float32).eps * scale / 2
        rms = float(np.sqrt(np.mean(np.nan_to_num(error) ** 2)))
        output = {
            "path": "output", "elements": found.size, "mismatches": int(wrong.sum()),
            "nans": int(np.isnan(found).sum()), "worst_ratio": None,
            "max_error": float(np.nan_to_num(error).max()),
            "error_ratio": float(rms / (2 * floor)), "error_share": rms / scale,
        }  # fmt: skip
        if wrong.any():
            index = int(np.flatnonzero(wrong)[0])
            output |= {"first": str(index), "got": str(found.flat[index]),
                       "expected": float(expected.flat[index])}  # fmt: skip
        return {"structure": None, "outputs": [output]}


def _with_little_memory(handler: Handler) -> Handler:
    def handle(request: dict[str, Any]) -> dict[str, Any]:
        try:
            return handler(request)
        except MemoryError as error:
            raise RequestRefused("memory", str(error)) from error

    return handle


def main() -> None:
    argparse.ArgumentParser().parse_known_args(sys.argv)
    oracle = Oracle()
    names = (
        "start", "buffers", "gate", "weights", "draw", "draw_calls", "place", "expect", "compare",
        "prepare", "run", "compare_timed", "forget",
    )  # fmt: skip
    handlers = {name: _with_little_memory(getattr(oracle, name)) for name in names}
    handlers["ceilings"] = lambda _request: {"copy_gb_per_s": None}
    handlers["burn"] = lambda request: {"calls": request["calls"]}
    serve(handlers)


if __name__ == "__main__":
    main()
