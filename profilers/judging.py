"""The GPU phase: load, verify, time; any failure becomes the candidate's evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from mcts.domain import Build, Evaluation, KernelTask, Timing, Verification, Workload
from mcts.errors import WorldError
from profilers import verdict
from profilers.bench import Bench, Rejected
from profilers.building import Built, Failed
from profilers.cases import CaseFiles
from profilers.processes import ChildGone
from profilers.settings import GpuSettings

FreshCase = tuple[Workload, CaseFiles]


@dataclass(slots=True)
class Findings:
    """What is known of a candidate so far, and what is being done to it."""

    build: Build
    doing: str = "loading the module"
    checked: list[tuple[Workload, dict[str, Any]]] = field(default_factory=list)
    verification: Verification | None = None


class Judge:
    """Judges built candidates on a bench. Not thread-safe: one candidate at a time.

    `floor_us` is the least time that can be believed.
    """

    def __init__(
        self, task: KernelTask, bench: Bench, settings: GpuSettings, *, floor_us: float
    ) -> None:
        self._task = task
        self._bench = bench
        self._settings = settings
        self._floor_us = floor_us
        self._slowest_us = 0.0

    def judge(self, built: Built, fresh: Sequence[FreshCase]) -> Evaluation:
        """The verdict on `built`; a suspect timing is taken again in a fresh worker.

        Raises Failed for what is the candidate's fault, WorldError for what is not.
        """
        evaluation = self._attempt(built, fresh)
        if evaluation.status == "suspect":
            self._bench.replace()
            evaluation = self._attempt(built, fresh)
        return evaluation

    def _attempt(self, built: Built, fresh: Sequence[FreshCase]) -> Evaluation:
        self._bench.ready()
        findings = Findings(build=built.build())
        try:
            resources = load(self._task, self._bench, "candidate", built, self._settings)
            findings.build = built.build(resources)
            self._verify_fresh(built, fresh, findings)
            self._verify_timed(findings)
            answer = self._time(findings)
        except ChildGone as gone:
            raise _lost(gone, findings) from None
        except Rejected as rejected:
            raise _rejected(rejected, findings) from None
        timing = verdict.timing(built.candidate.id, answer)
        reason = verdict.why_suspect(answer, timing.median_us, self._floor_us)
        return _evaluation(built, findings, timing, reason)

    def _verify_fresh(self, built: Built, fresh: Sequence[FreshCase], findings: Findings) -> None:
        """The workloads that are not timed, on inputs that nobody has seen."""
        for workload, case in fresh:
            findings.doing = f"running workload {workload.name} {workload.shape}"
            reply = self._bench.ask(
                {
                    "op": "verify_fresh",
                    "role": "candidate",
                    "workload": workload.name,
                    "case": case.to_json(),
                    "call": built.calls[workload.name].to_json(),
                },
                timeout_s=self._settings.verify_deadline_s,
            )
            findings.checked.append((workload, reply))
            self._conclude(findings, findings.checked, reply["damaged"])

    def _verify_timed(self, findings: Findings) -> None:
        timed = self._task.timed_workload
        findings.doing = f"running workload {timed.name} {timed.shape}"
        reply = self._bench.ask(
            {"op": "verify_timed", "role": "candidate"},
            timeout_s=self._settings.verify_deadline_s,
        )
        findings.checked += [(timed, answer) for answer in reply["cases"]]
        self._conclude(findings, findings.checked, reply["damaged"])

    def _time(self, findings: Findings) -> dict[str, Any]:
        findings.doing = "being timed"
        # The baseline is timed along; it was judged first, so that its time is known here.
        self._slowest_us = max(self._slowest_us, *(run["us"] for _, run in findings.checked))
        rounds = 2 * self._settings.min_rounds
        answer = self._bench.ask(
            {"op": "time", "plan": asdict(self._settings.timing_plan())},
            timeout_s=self._settings.time_deadline_s + rounds * self._slowest_us / 1e6,
        )
        again = [*findings.checked, (self._task.timed_workload, answer)]
        self._conclude(findings, again, answer["damaged"], when="while being timed: ")
        return answer

    def _conclude(
        self,
        findings: Findings,
        checked: Sequence[tuple[Workload, dict[str, Any]]],
        damaged: Sequence[str],
        *,
        when: str = "",
    ) -> None:
        """Bring the verification up to date; Failed where anything is wrong."""
        if damaged:
            self._bench.replace()
        found = verdict.verification(
            self._task, checked, damaged, rounds=len(findings.checked), when=when
        )
        findings.verification = found
        if not found.passed:
            raise Failed("wrong_result", found.detail, build=findings.build, verification=found)


def load(
    task: KernelTask, bench: Bench, role: str, built: Built, settings: GpuSettings
) -> dict[str, dict[str, int]]:
    """Load a program into the bench's worker as `role`; its resources per kernel."""
    reply = bench.ask(
        {
            "op": "load",
            "role": role,
            "cubin": str(built.compiled.cubin),
            "kernels": list(built.kernels),
            "call": built.calls[task.timed_workload.name].to_json(),
        },
        timeout_s=settings.load_deadline_s,
    )
    resources: dict[str, dict[str, int]] = reply["resources"]
    return resources


def _lost(gone: ChildGone, findings: Findings) -> Failed:
    if gone.hung:
        text = (
            f"did not finish {findings.doing}: {gone}; an endless loop, a deadlock at a barrier, "
            "or far too slow"
        )
    else:
        text = f"the worker process died while {findings.doing}: {gone}. {gone.output[-500:]}"
    return Failed(
        "timed_out" if gone.hung else "runtime_error",
        text.strip(),
        build=findings.build,
        verification=findings.verification,
    )


def _rejected(rejected: Rejected, findings: Findings) -> Failed:
    if rejected.kind == "internal":
        raise WorldError(f"the GPU worker failed: {rejected}")
    if rejected.kind == "missing_kernel":
        return Failed("compile_failed", str(rejected), build=findings.build)
    text = str(rejected)
    if rejected.kind == "cuda":
        text = f"the kernel faulted {findings.doing}: {text}; check its indices against the shape"
    return Failed("runtime_error", text, build=findings.build, verification=findings.verification)


def _evaluation(built: Built, findings: Findings, timing: Timing, reason: str | None) -> Evaluation:
    return Evaluation(
        candidate_id=built.candidate.id,
        status="measured" if reason is None else "suspect",
        message=reason or "",
        build=findings.build,
        verification=findings.verification,
        timing=timing,
    )
