"""A judge and a worker in one process, on the emulated driver."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from mcts.domain import Candidate, Evaluation, KernelTask
from profilers.children import serving
from profilers.children.protocol import RequestRefused
from profilers.compiling.building import Built
from profilers.compiling.calls import Call, Step
from profilers.compiling.compiler import Compiled
from profilers.cuda.cases import CaseStore, inputs_in_tf32
from profilers.cuda.judging import Judge, load
from profilers.cuda.reference import NumpyReference
from profilers.cuda.settings import GpuSettings
from profilers.cuda.worker import CudaHandlers
from profilers.launching.gpu_worker import GpuWorker
from profilers.measuring.clocks import Batch, Clocks
from tests.profilers import emulated

Array = np.ndarray[Any, Any]
Body = Callable[[Array, Array], None]
QUICK = GpuSettings(batch_us=100.0)
AGREEING = Clocks([Batch(n, 10.0 * n, 10.0 * n + 5, 10.0 * n + 90) for n in (10, 20, 30)])
"""What clocks tell that do not disagree."""


def scaled(x: Array, y: Array) -> None:
    y[:] = 2 * x


def floats(address: int, count: int) -> Array:
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))


def scale_kernel(body: Body) -> emulated.Kernel:
    """The kernel `scale` of the arguments x, y and n, on arrays."""

    def scale(arguments: Any) -> None:
        x, y = (ctypes.c_uint64.from_address(arguments[i]).value for i in range(2))
        n = ctypes.c_int32.from_address(arguments[2]).value
        body(floats(x, n), floats(y, n))

    return scale


class LocalWorker:
    """A worker in this very process: its clocks are the emulated driver's."""

    def __init__(self, setup: Callable[[Any], None], folder: Path) -> None:
        self._setup = setup
        self._support = folder / "support.cubin"
        self._support.write_bytes(b"")
        self._worker: CudaHandlers | None = None
        self.replaced = 0

    def ready(self) -> None:
        if self._worker is None:
            self._worker = CudaHandlers(0)
            self.ask({"op": "start", "support": str(self._support)})
            self._setup(self)

    def ask(self, message: Mapping[str, Any], *, timeout_s: float = 0) -> dict[str, Any]:
        handlers = {message["op"]: getattr(self._worker, message["op"])}
        reply = serving._answer(handlers, dict(message))
        if reply["ok"]:
            return reply
        raise RequestRefused(reply["kind"], reply["message"])

    def probe(self) -> str | None:
        return None

    def replace(self) -> None:
        self._worker = None
        self.replaced += 1


class Place:
    """A judge with its store, for the task `scale`."""

    def __init__(self, task: KernelTask, folder: Path) -> None:
        self.task, self.folder = task, folder
        self.store = CaseStore(task, NumpyReference(task))
        self.cases = [
            (workload, case)
            for workload in task.timed_workloads
            for case in self.store.make(workload, count=3)
        ]
        self.variations = self.store.make_variations(task.workloads[1])
        self.baseline = self.built("baseline", lambda: scaled)
        self.worker = LocalWorker(self._set_up, folder)
        self.judge = Judge(task, cast(GpuWorker, self.worker), QUICK, floors_us={})
        self.judge._compare_clocks = lambda *_: AGREEING  # type: ignore[method-assign]

    def built(self, name: str, make: Callable[[], Body]) -> Built:
        """A program whose kernel `scale` is what `make` makes at each load."""
        content = name.encode()
        emulated.PROGRAMS[content] = lambda: {"scale": scale_kernel(make())}
        path = self.folder / f"{name}.cubin"
        path.write_bytes(content)
        calls = {
            load.name: Call(
                steps=(Step(kernel="scale", args=(("buffer", "x"), ("buffer", "y"),
                                                  ("int32", load.shape["n"]))),)
            )
            for load in self.task.workloads
        }  # fmt: skip
        compiled = Compiled(path, name, frozenset({"scale"}), "", 0.0, False)
        return Built(Candidate(source=name), compiled, calls)

    def evaluate(self, name: str, make: Callable[[], Body]) -> Evaluation:
        fresh = [
            (workload, self.store.make(workload)[0])
            for workload in self.task.workloads
            if workload.weight == 0
        ]
        return self.judge.judge(self.built(name, make), fresh)

    def _set_up(self, worker: GpuWorker) -> None:
        residents = list(self.cases)
        residents += [(self.task.workloads[1], case) for case in self.variations]
        worker.ask(
            {
                "op": "cases",
                "timed": {
                    workload.name: [
                        {"name": item.name, "role": item.role, "dtype": item.dtype,
                         "fill": item.fill, "elements": workload.shape["n"]}
                        for item in self.task.buffers
                    ]
                    for workload in self.task.timed_workloads
                },
                "tolerance": [self.task.tolerance.relative, self.task.tolerance.absolute],
                "in_tf32": inputs_in_tf32(self.task),
                "cases": [
                    {"workload": workload.name, "label": case.label, "case": case.to_json()}
                    for workload, case in residents
                ],
            }
        )  # fmt: skip
        load(worker, "baseline", self.baseline, QUICK)
