"""The disposable process that runs candidates on a GPU.

Run as ``python -m profilers.cuda.worker --device N``. It may fault, hang or be corrupted by what it
runs; the judge kills it and starts another. It is told what is expected, and answers in numbers.
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
from profilers.launching.programs import PreparedCall, ReloadableProgram
from profilers.launching.session import DeviceSession
from profilers.measuring import timing
from profilers.measuring.blocks import BlockTimer, Field, TimingPlan, measure_in_turn
from profilers.measuring.probes import probe

BASELINE_FACTOR = 4.0
"""On inputs of another distribution a candidate may be so many times as far off as the baseline."""

BASELINE = "baseline"


@dataclass(slots=True)
class ResidentCase:
    """A case that stays on the device. `label` tells what is unlike the task's own inputs."""

    case: DeviceCase
    workload: str
    label: str
    honest: list[dict[str, Any]] | None = None


class CudaHandlers:
    """Handlers of the requests; each returns the JSON of its answer."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._session: DeviceSession | None = None
        self._loaded: dict[str, ReloadableProgram] = {}
        self._batches: dict[tuple[str, str], PreparedCall] = {}
        self._residents: list[ResidentCase] = []
        self._fields: dict[str, Field] = {}
        self._tolerance = (0.0, 0.0)

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
        """Upload the cases that stay, and make room for the buffers that are timed on.

        `timed` has those buffers by workload.
        """
        relative, absolute = request["tolerance"]
        self._tolerance = (relative, absolute)
        for item in request["cases"]:
            workload = item["workload"]
            with _room_for(workload):
                case = self.session.add_case(item["case"], shared=f"resident/{workload}")
            self._residents.append(ResidentCase(case, workload, item["label"]))
        share = 1 / len(request["timed"])
        for workload, buffers in request["timed"].items():
            with _room_for(workload):
                self._fields[workload] = Field(self.session, buffers, name=workload, share=share)
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
        """Run once on a case that nobody has seen, and compare; the baseline on the same."""
        role, workload = request["role"], request["workload"]
        case = self.session.upload(request["case"], f"fresh/{workload}")
        sums = self.session.guard(case)
        answer = self._run(role, workload, case)
        found = self.session.guard(case)
        answer["damaged"] = [region for region in sums if sums[region] != found[region]]
        if not answer["damaged"]:
            answer["honest"] = self._run(BASELINE, workload, case)["outputs"]
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
            if resident.honest is None and self._role(role).same_as(self._role(BASELINE)):
                resident.honest = answer["outputs"]
            answers[-1]["honest"] = self._honest(resident)
        return {"cases": answers, "damaged": self.session.damage()}

    def time(self, request: dict[str, Any]) -> dict[str, Any]:
        """Time the candidate against the baseline on every timed workload."""
        self._batches.clear()
        plan = TimingPlan.from_json(request["plan"])
        order = random.Random(plan.seed)
        timers = {
            workload: BlockTimer(
                self.session,
                field,
                (self._role(BASELINE), self._role("candidate")),
                workload=workload,
                tolerance=self._tolerance,
                order=order,
            )
            for workload, field in self._fields.items()
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
        """Names of what no kernel may change and one did."""
        return {"damaged": self.session.damage()}

    def _batch_call(self, role: str, workload: str) -> PreparedCall:
        loaded, session = self._role(role), self.session
        if workload not in self._fields:
            raise _not_started()
        call, field = loaded.calls[workload], self._fields[workload]
        case = field.lay_out(random.Random())[0]
        field.fill(case, field.seeds())
        prepared = session.prepare(loaded.program, call, case, f"{role}/{workload}")
        prepared.enqueue()
        session.context.synchronize()
        return prepared

    def _allowance(self, resident: ResidentCase) -> float | None:
        """How many times the tolerance is allowed on a case; None where nothing can be said.

        On other inputs than the task's own an honest kernel may stray from the tolerance, so it is
        the baseline's error that counts; where that is no number, the task does not reach so far.
        """
        if not resident.label:
            return 1.0
        ratios = [output["worst_ratio"] for output in self._honest(resident)]
        if any(ratio is None for ratio in ratios):
            return None
        return max(1.0, BASELINE_FACTOR * float(max(ratios)))

    def _honest(self, resident: ResidentCase) -> list[dict[str, Any]]:
        """What comparing the baseline found on a case; it is run once."""
        if resident.honest is None:
            resident.honest = self._run(BASELINE, resident.workload, resident.case)["outputs"]
        return resident.honest

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
        # What an honest kernel wrote must not be found by the next one.
        session.poison([*outputs, *session.workspaces(call, owner).values()])
        return {"outputs": found, "us": us}

    def _role(self, role: str) -> ReloadableProgram:
        if role not in self._loaded:
            raise _not_started()
        return self._loaded[role]


@contextlib.contextmanager
def _room_for(workload: str) -> Iterator[None]:
    """A refusal names the workload that found no device memory."""
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
    # A kernel loaded at its first launch would have the loading timed.
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
