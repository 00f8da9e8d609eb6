"""The disposable process that runs candidates on a GPU.

Run as ``python -m profilers.cuda.worker --device N``. It may fault, hang or be corrupted by what it
runs; the judge kills it and starts another. It gets the expected values, and answers in numbers.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profilers.children.protocol import RequestRefused
from profilers.children.serving import serve
from profilers.compiling.calls import Call
from profilers.hardware import driver
from profilers.launching.memory import DeviceCase
from profilers.launching.programs import PreparedCall, Region, ReloadableProgram
from profilers.launching.session import DeviceSession
from profilers.measuring import timing
from profilers.measuring.blocks import BlockTimer, BufferSets, TimingPlan, measure_in_turn
from profilers.measuring.probes import probe

BASELINE_FACTOR = 4.0
"""On inputs of another distribution, a candidate's error may be so many times the baseline's."""

BASELINE = "baseline"


@dataclass(slots=True)
class ResidentCase:
    """A case that stays on the device. `label`: how its inputs differ from the task's."""

    case: DeviceCase
    workload: str
    label: str
    baseline_outputs: list[dict[str, Any]] | None = None
    cut_outputs: list[dict[str, Any]] | None = None


class CudaHandlers:
    """Handlers of the requests; each returns the JSON of its answer."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._session: DeviceSession | None = None
        self._loaded: dict[str, ReloadableProgram] = {}
        self._batches: dict[tuple[str, str], PreparedCall] = {}
        self._residents: list[ResidentCase] = []
        self._buffer_sets: dict[str, BufferSets] = {}
        self._tolerance = (0.0, 0.0)
        self._in_tf32: frozenset[str] = frozenset()

    @property
    def session(self) -> DeviceSession:
        if self._session is None:
            raise _not_started()
        return self._session

    def start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Take the GPU and load the judge's kernels."""
        self._session = DeviceSession(self._device, Path(request["support"]).read_bytes())
        return {}

    def probe(self, _request: dict[str, Any]) -> dict[str, Any]:
        """Measure the device's ceilings."""
        return {"rates": probe(self.session)}

    def cases(self, request: dict[str, Any]) -> dict[str, Any]:
        """Upload the cases that stay, and allocate the buffers for timing.

        `timed` has those buffers by workload, `in_tf32` the inputs that a candidate may cut to
        TF32.
        """
        self._in_tf32 = frozenset(request["in_tf32"])
        relative, absolute = request["tolerance"]
        self._tolerance = (relative, absolute)
        for item in request["cases"]:
            workload = item["workload"]
            with _room_for(workload):
                case = self.session.add_case(item["case"], shared=f"resident/{workload}")
                self._regions_in_tf32(case)
            self._residents.append(ResidentCase(case, workload, item["label"]))
        share = 1 / len(request["timed"])
        for workload, buffers in request["timed"].items():
            with _room_for(workload):
                self._buffer_sets[workload] = BufferSets(
                    self.session, buffers, name=workload, share=share
                )
        return {}

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Load a cubin as the baseline or the candidate; answers its resources per kernel."""
        role = request["role"]
        self._batches.clear()
        if role in self._loaded:
            self._loaded.pop(role).unload()
        self.session.memory.drop(f"{role}/")
        calls = {name: Call.from_json(call) for name, call in request["calls"].items()}
        cubin = Path(request["cubin"]).read_bytes()
        self._loaded[role] = ReloadableProgram(cubin, tuple(request["kernels"]), calls)
        return {"resources": self._loaded[role].program.resources}

    def verify_fresh(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run once on a fresh case and compare; then the baseline on the same case."""
        role, workload = request["role"], request["workload"]
        case = self.session.upload(request["case"], f"fresh/{workload}")
        cut = self._cut_outputs(workload, case)
        sums = self.session.guard(case)
        answer = self._run(role, workload, case, allowed=_widened(cut))
        found = self.session.guard(case)
        answer["damaged"] = [region for region in sums if sums[region] != found[region]]
        if not answer["damaged"]:
            answer["honest"] = self._run(BASELINE, workload, case)["outputs"]
            answer["cut"] = cut
        return answer

    def verify(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run once on each resident case and compare; stops at the first wrong one."""
        role = request["role"]
        answers = []
        for resident in self._residents:
            allowed = self._allowance(resident)
            if allowed is None:
                continue
            answer = self._run(role, resident.workload, resident.case, allowed=allowed)
            answers.append({**answer, "workload": resident.workload, "label": resident.label})
            if any(output["mismatches"] for output in answer["outputs"]):
                break
            if resident.baseline_outputs is None and self._role(role).same_as(self._role(BASELINE)):
                resident.baseline_outputs = answer["outputs"]
            answers[-1]["honest"] = self._baseline_outputs(resident)
            answers[-1]["cut"] = resident.cut_outputs
        return {"cases": answers, "damaged": self.session.damage()}

    def time(self, request: dict[str, Any]) -> dict[str, Any]:
        """Time the candidate against the baseline on every timed workload."""
        self._batches.clear()
        plan = TimingPlan.from_json(request["plan"])
        order = random.Random(plan.seed)
        timers = {
            workload: BlockTimer(
                self.session,
                buffer_sets,
                (self._role(BASELINE), self._role("candidate")),
                workload=workload,
                tolerance=self._timed_tolerance(workload),
                order=order,
            )
            for workload, buffer_sets in self._buffer_sets.items()
        }
        measure_in_turn(self.session, tuple(timers.values()), plan)
        shapes = {workload: timer.answer for workload, timer in timers.items()}
        return {"shapes": shapes, "damaged": self.session.damage()}

    def batch(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run many calls of a role in a row, on one content; the first request prepares them."""
        role, workload = request["role"], request["workload"]
        if (role, workload) not in self._batches:
            self._batches[role, workload] = self._batch_call(role, workload)
        return timing.batch_us(self.session, self._batches[role, workload], request["calls"])

    def guard(self, _request: dict[str, Any]) -> dict[str, Any]:
        """Names of guarded regions that have changed."""
        return {"damaged": self.session.damage()}

    def _batch_call(self, role: str, workload: str) -> PreparedCall:
        loaded, session = self._role(role), self.session
        if workload not in self._buffer_sets:
            raise _not_started()
        call, buffer_sets = loaded.calls[workload], self._buffer_sets[workload]
        case = buffer_sets.lay_out(random.Random())[0]
        buffer_sets.fill(case, buffer_sets.seeds())
        prepared = session.prepare(loaded.program, call, case, f"{role}/{workload}")
        prepared.enqueue()
        session.context.synchronize()
        return prepared

    def _allowance(self, resident: ResidentCase) -> float | None:
        """The factor on the tolerance for a case; None if the case cannot be judged.

        On other inputs than the task's own an honest kernel may exceed the tolerance, so the
        baseline's error counts; if that is not a number, the case is left out. On all inputs its
        error counts if they are cut to TF32, where the task allows it.
        """
        if resident.cut_outputs is None:
            resident.cut_outputs = self._cut_outputs(resident.workload, resident.case)
        widened = _widened(resident.cut_outputs)
        if not resident.label:
            return widened
        ratios = [output["worst_ratio"] for output in self._baseline_outputs(resident)]
        if any(ratio is None for ratio in ratios):
            return None
        return max(widened, BASELINE_FACTOR * float(max(ratios)))

    def _timed_tolerance(self, workload: str) -> tuple[float, float]:
        own = [one for one in self._residents if one.workload == workload and not one.label]
        widened = max((self._allowance(one) or 1.0 for one in own), default=1.0)
        relative, absolute = self._tolerance
        return widened * relative, widened * absolute

    def _baseline_outputs(self, resident: ResidentCase) -> list[dict[str, Any]]:
        """The baseline's comparison on a case; the baseline is run once."""
        if resident.baseline_outputs is None:
            resident.baseline_outputs = self._run(BASELINE, resident.workload, resident.case)[
                "outputs"
            ]
        return resident.baseline_outputs

    def _cut_outputs(self, workload: str, case: DeviceCase) -> list[dict[str, Any]] | None:
        """The baseline's comparison on inputs cut to TF32; None if the task has none to cut."""
        cut = self._regions_in_tf32(case)
        if not cut:
            return None
        for name, region in cut.items():
            self.session.cut_tf32(case.inputs[name], region)
        given = DeviceCase(inputs=case.inputs | cut, outputs=case.outputs)
        outputs: list[dict[str, Any]] = self._run(BASELINE, workload, given)["outputs"]
        return outputs

    def _regions_in_tf32(self, case: DeviceCase) -> dict[str, Region]:
        """Room for the case's inputs that may be cut to TF32."""
        get = self.session.memory.get_least
        return {name: get(f"in_tf32/{name}", case.inputs[name].size) for name in self._in_tf32}

    def _run(
        self, role: str, workload: str, case: DeviceCase, *, allowed: float = 1.0
    ) -> dict[str, Any]:
        session, loaded = self.session, self._role(role)
        call, owner = loaded.calls[workload], f"{role}/{workload}"
        prepared = session.prepare(loaded.program, call, case, owner)
        outputs = [output.found.region for output in case.outputs.values()]
        session.poison([*outputs, *session.workspaces(call, owner).values()])
        session.clear_results()
        us = timing.case_call_us(session, prepared)
        relative, absolute = self._tolerance
        session.compare_case(case, (allowed * relative, allowed * absolute))
        found = session.results(case, values=True)
        # The next kernel must not find what an honest one wrote.
        session.poison([*outputs, *session.workspaces(call, owner).values()])
        return {"outputs": found, "us": us}

    def _role(self, role: str) -> ReloadableProgram:
        if role not in self._loaded:
            raise _not_started()
        return self._loaded[role]


def _widened(cut: list[dict[str, Any]] | None) -> float:
    """How many times the tolerance is accepted where inputs may be cut to TF32."""
    ratios = [output["worst_ratio"] or 0.0 for output in cut or ()]
    return max(1.0, BASELINE_FACTOR * max(ratios, default=0.0))


@contextlib.contextmanager
def _room_for(workload: str) -> Iterator[None]:
    """If device memory runs out, refuse the request and name the workload."""
    try:
        yield
    except driver.CudaError as error:
        if error.code != driver.OUT_OF_MEMORY:
            raise
        raise RequestRefused(
            "memory", f"no device memory is left for workload {workload}"
        ) from None


def _not_started() -> RequestRefused:
    return RequestRefused("internal", "the worker was asked before it was set up", sticky=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", type=int, default=0)
    options, _ = parser.parse_known_args()
    # With lazy loading, the loading of a kernel would be timed with its first launch.
    os.environ["CUDA_MODULE_LOADING"] = "EAGER"
    worker = CudaHandlers(options.device)
    serve(
        {
            "start": worker.start,
            "probe": worker.probe,
            "cases": worker.cases,
            "load": worker.load,
            "verify_fresh": worker.verify_fresh,
            "verify": worker.verify,
            "time": worker.time,
            "batch": worker.batch,
            "guard": worker.guard,
        }
    )


if __name__ == "__main__":
    main()
