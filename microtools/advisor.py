"""From an evaluation to ranked guidance: the roofline class gates the tools, all gated tools run.

The tools are chosen by rule, never by a language model: invoking them proactively did better than
letting the model pick (KernelPro, ablation of stage 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcts.domain import Evaluation, Finding, Guidance, KernelTask, Profile
from microtools import registry
from microtools.tool import Case, MicroTool

LOG_LINES = 20
NAMED_GAPS = 4


class RooflineAdvisor:
    """The advisor of the main loop. `tools` replaces the registry's, for tests and ablations."""

    def __init__(self, tools: Sequence[MicroTool] | None = None) -> None:
        self._tools, self._notes = (tuple(tools), ()) if tools is not None else registry.available()

    def advise(self, task: KernelTask, evaluation: Evaluation) -> Guidance:
        """Findings for a measured candidate; for a failed one, what failed and where."""
        if not evaluation.measured:
            return Guidance(notes=tuple(_failure(evaluation)))
        profile = evaluation.profile
        if profile is None or profile.dominant is None:
            return Guidance(
                roofline=profile.roofline if profile else None,
                notes=(*_unprofiled(profile), *self._notes),
            )
        case = Case(task=task, evaluation=evaluation, profile=profile, kernel=profile.dominant)
        findings, notes = self._examine(case)
        return Guidance(
            roofline=profile.roofline,
            findings=tuple(sorted(findings, key=lambda finding: -finding.strength)),
            notes=(*_about_kernels(profile), *notes, *_missing(profile), *self._notes),
        )

    def _examine(self, case: Case) -> tuple[list[Finding], list[str]]:
        findings: list[Finding] = []
        notes: list[str] = []
        for tool in self._tools:
            if case.bound != "unknown" and case.bound not in tool.affinity:
                continue
            try:
                finding = tool.examine(case)
            except Exception as error:  # noqa: BLE001 - the boundary to tools of others
                notes.append(f"micro-tool {tool.name} failed: {type(error).__name__}: {error}")
                continue
            if finding is not None:
                findings.append(finding)
        return findings, notes


_WHAT_FAILED = {
    "compile_failed": "It did not compile",
    "wrong_result": "Its result is wrong",
    "runtime_error": "It failed when it ran",
    "timed_out": "It ran out of time",
    "suspect": "Its measurement cannot be believed",
}


def _failure(evaluation: Evaluation) -> Iterator[str]:
    """What a repair needs: the message, the mismatch, the end of the compiler's log."""
    yield f"{_WHAT_FAILED[evaluation.status]}: {evaluation.message}"
    verification = evaluation.verification
    if verification is not None and not verification.passed:
        if verification.detail and verification.detail not in evaluation.message:
            yield f"mismatch: {verification.detail}"
        if verification.max_error is not None:
            worst = verification.worst_ratio
            over = f", {worst:.3g} times what is tolerated" if worst is not None else ""
            yield f"greatest error: {verification.max_error:.3g}{over}"
    log = evaluation.build.log.strip() if evaluation.build else ""
    if evaluation.status == "compile_failed" and log and log not in evaluation.message:
        yield "end of the compiler's log:\n" + "\n".join(log.splitlines()[-LOG_LINES:])


def _unprofiled(profile: Profile | None) -> Iterator[str]:
    if profile is None:
        yield "It was timed, but not profiled: no counters and no machine code to reason about."
    else:
        yield "No kernel was profiled."
        yield from _missing(profile)


def _about_kernels(profile: Profile) -> Iterator[str]:
    if len(profile.kernels) > 1 and profile.dominant is not None:
        yield (
            f"{len(profile.kernels)} kernels run per call; the findings are about "
            f"{profile.dominant.name}, which takes longest."
        )


def _missing(profile: Profile) -> Iterator[str]:
    """What is not known, each reason once."""
    reasons: dict[str, list[str]] = {}
    for name, reason in profile.missing.items():
        reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():
        listed = ", ".join(names[:NAMED_GAPS])
        more = f" and {len(names) - NAMED_GAPS} more" if len(names) > NAMED_GAPS else ""
        yield f"not measured: {listed}{more} ({reason})"
