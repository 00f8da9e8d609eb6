"""What is known of a candidate so far, and its verdict: Failed if anything is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mcts.domain import Build, KernelTask, Refusal, Verification, Workload
from profilers.children.processes import ChildGone
from profilers.children.protocol import RequestRefused
from profilers.compiling.building import Failed
from profilers.cuda.failures import fault_text
from profilers.cuda.verification import mistimed, unrelated_error, verification_of
from profilers.launching.precision import Compared, Excess, timed_runs, whole_errors, worst_excess

Timed = Sequence[tuple[Workload, Mapping[str, Any]]]
"""A worker's blocks by workload."""


@dataclass(slots=True)
class Findings:
    """What is known of a candidate so far, and what is being done with it.

    `checked` are the comparisons of a verification: pairs of a workload and a worker's answer.
    """

    task: KernelTask
    build: Build
    doing: str = "loading the module"
    checked: list[tuple[Workload, dict[str, Any]]] = field(default_factory=list)
    verification: Verification | None = None

    def conclude(self, damaged: Sequence[str]) -> None:
        """Bring the verification up to date; Failed if anything is wrong."""
        found = self.verification = verification_of(self.task, self.checked, damaged)
        if not found.passed:
            raise self._failed("wrong_result", found.detail)

    def conclude_timing(self, timed: Timed, damaged: Sequence[str]) -> None:
        """Failed if an output was wrong, or memory damaged, while the candidate was timed."""
        assert self.verification is not None
        found = mistimed(self.task, self.verification, timed, damaged)
        if found is not None:
            self.verification = found
            raise self._failed("wrong_result", found.detail)

    def check_errors(self) -> None:
        """Failed if errors within the tolerance are not those of the task's own precision."""
        runs = self._own_runs()
        excess = worst_excess(runs)
        self.verification = verification_of(self.task, self.checked, excess=excess)
        self._refuse_unrelated(runs)
        self._refuse_excess(excess)

    def check_timed_errors(self, timed: Timed) -> None:
        """The same for timed outputs, which must be as exact as verified ones."""
        for workload, answer in timed:
            checked = [run for name, run in self._own_runs() if name == workload.name]
            runs = timed_runs(workload.name, answer["outputs"], checked)
            self._refuse_unrelated(runs, doing="while being timed: ")
            self._refuse_excess(worst_excess(runs))

    def lost(self, gone: ChildGone) -> Failed:
        """The failure of a candidate whose worker hung or died."""
        if gone.hung:
            text = (
                f"did not finish {self.doing}: {gone}; an endless loop, a deadlock at a barrier, "
                "or far too slow"
            )
        else:
            text = f"the worker process died twice while {self.doing}: {gone}. {gone.output[-500:]}"
        return self._failed("timed_out" if gone.hung else "runtime_error", text.strip())

    def rejected(self, rejected: RequestRefused) -> Failed:
        """The failure of a candidate whose worker refused a request."""
        if rejected.kind == "missing_kernel":
            return Failed("compile_failed", str(rejected), build=self.build)
        text = str(rejected)
        if rejected.kind == "cuda":
            text = fault_text(rejected, self.doing)
        return self._failed("runtime_error", text)

    def _own_runs(self) -> list[Compared]:
        """Runs on the task's own inputs; on other distributions the tolerance is another one."""
        return [(workload.name, run) for workload, run in self.checked if not run.get("label")]

    def _refuse_unrelated(self, runs: Sequence[Compared], *, doing: str = "") -> None:
        why = unrelated_error(whole_errors(runs))
        if why is None:
            return
        assert self.verification is not None
        update = {"passed": False, "detail": f"{doing}{why}"}
        self.verification = self.verification.model_copy(update=update)
        raise self._failed("wrong_result", self.verification.detail)

    def _refuse_excess(self, excess: Excess | None) -> None:
        if excess is not None and excess.share > 1:
            raise Failed(
                "refused",
                f"computed in a lower precision than the task's: {excess}",
                build=self.build,
                verification=self.verification,
                refusal=Refusal(cheat="precision_downgrade", evidence=str(excess)),
            )

    def _failed(
        self, status: Literal["wrong_result", "runtime_error", "timed_out"], message: str
    ) -> Failed:
        return Failed(status, message, build=self.build, verification=self.verification)
