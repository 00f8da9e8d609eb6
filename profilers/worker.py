"""The disposable process that runs candidates on a GPU.

Run as ``python -m profilers.worker --device N``. It may fault, hang or be corrupted by what it
runs; the judge kills it and starts another. It is told what is expected, and answers in numbers.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from profilers import timing
from profilers.calls import Call
from profilers.ceilings import probe
from profilers.programs import Prepared, Program
from profilers.serving import Refusal, serve
from profilers.session import Case, Session


class Worker:
    """Handlers of the requests; each returns the JSON of its answer."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._session: Session | None = None
        self._programs: dict[str, Program] = {}
        self._calls: dict[str, Call] = {}
        self._tolerance = (0.0, 0.0)

    @property
    def session(self) -> Session:
        if self._session is None:
            raise Refusal("internal", "the worker was not started", sticky=True)
        return self._session

    def start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Take the GPU and load the judge's kernels."""
        self._session = Session(self._device, Path(request["support"]).read_bytes())
        return {}

    def probe(self, _request: dict[str, Any]) -> dict[str, Any]:
        """Measure the device's ceilings."""
        return {"rates": probe(self.session)}

    def cases(self, request: dict[str, Any]) -> dict[str, Any]:
        """Upload the timed cases."""
        self._tolerance = tuple(request["tolerance"])
        self.session.add_cases(request["cases"])
        return {}

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Load a cubin as the baseline or the candidate; answers its resources per kernel."""
        role = request["role"]
        if role in self._programs:
            self._programs.pop(role).unload()
        self.session.memory.drop(f"{role}/ws/")
        cubin = Path(request["cubin"]).read_bytes()
        self._programs[role] = Program(cubin, tuple(request["kernels"]))
        self._calls[role] = Call.from_json(request["call"])
        return {"resources": self._programs[role].resources}

    def verify_fresh(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run once on a case that nobody has seen, and compare."""
        name = request["workload"]
        case = self.session.upload(request["case"], f"fresh/{name}")
        sums = self.session.guard(case)
        call = Call.from_json(request["call"])
        answer = self._run(request["role"], call, case, f"fresh/{name}")
        self.session.memory.drop(f"fresh/{name}/ws/")
        found = self.session.guard(case)
        answer["damaged"] = [region for region in sums if sums[region] != found[region]]
        return answer

    def verify_timed(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run once on each timed case and compare; stops at the first wrong one."""
        role = request["role"]
        answers = []
        for case in self.session.cases:
            answers.append(self._run(role, self._calls[role], case, role))
            if any(output["mismatches"] for output in answers[-1]["outputs"]):
                break
        return {"cases": answers, "damaged": self.session.damage()}

    def time(self, request: dict[str, Any]) -> dict[str, Any]:
        """Time the candidate against the baseline."""
        plan = timing.TimingPlan.from_json(request["plan"])
        answer = timing.measure(
            self.session,
            self._contender("baseline"),
            self._contender("candidate"),
            self._tolerance,
            plan,
        )
        return {**answer, "damaged": self.session.damage()}

    def _run(self, role: str, call: Call, case: Case, owner: str) -> dict[str, Any]:
        session = self.session
        prepared = self._prepare(role, call, case, owner)
        session.poison(case, session.workspaces(call, owner))
        session.clear_results()
        us = timing.case_call_us(session, prepared)
        for comparison in session.comparisons(case, self._tolerance):
            comparison.enqueue(session.context.stream)
        return {"outputs": session.results(case, values=True), "us": us}

    def _prepare(self, role: str, call: Call, case: Case, owner: str) -> Prepared:
        return self.session.prepare(self._programs[role], call, case, owner)

    def _contender(self, role: str) -> timing.Contender:
        call = self._calls[role]
        return timing.Contender(
            calls=tuple(self._prepare(role, call, case, role) for case in self.session.cases),
            workspaces=self.session.workspaces(call, role),
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", type=int, default=0)
    options, _ = parser.parse_known_args()
    worker = Worker(options.device)
    serve(
        {
            "start": worker.start,
            "probe": worker.probe,
            "cases": worker.cases,
            "load": worker.load,
            "verify_fresh": worker.verify_fresh,
            "verify_timed": worker.verify_timed,
            "time": worker.time,
        }
    )


if __name__ == "__main__":
    main()
