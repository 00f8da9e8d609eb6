"""From a profile to ranked guidance: the roofline class gates the tools, all gated tools run.

The tools are chosen by rule, never by a language model: invoking them proactively did better than
letting the model pick (KernelPro, ablation of stage 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcts.domain import Evaluation, Finding, Guidance, KernelProfile, KernelTask, Profile, Work
from mcts.ports import Advisor
from microtools import notes, ranking, registry
from microtools.examination import examine
from microtools.tool import Case, MicroTool

LEAST_SHARE = 0.25
"""Share of the profiled time from which a kernel beside the longest is examined too."""


class RooflineAdvisor(Advisor):
    """The advisor of the main loop.

    `tools` replaces the registry's, for tests and ablations; `weights` are the tools' calibrated
    weights in the ranking (`microtools.ranking`), 1 for a tool that has none.
    """

    def __init__(
        self, tools: Sequence[MicroTool] | None = None, weights: Mapping[str, float] | None = None
    ) -> None:
        self._tools, self._notes = (tuple(tools), ()) if tools is not None else registry.available()
        self._weights = dict(weights or {})
        self._causes = {tool.name: _causes(tool) for tool in self._tools}

    def advise(self, task: KernelTask, evaluation: Evaluation) -> Guidance:
        """Findings for a measured candidate; for a failed one, what failed and where."""
        if not evaluation.measured:
            return Guidance(notes=tuple(notes.failure(evaluation)))
        if evaluation.profile is None:
            return Guidance(notes=(*notes.unprofiled(None), *self._notes))
        return self.examine(
            work=Work.of(task) or evaluation.profile.work,
            profile=evaluation.profile,
            time_us=evaluation.timing.heaviest.median_us if evaluation.timing else None,
        )

    def examine(self, *, work: Work | None, profile: Profile, time_us: float | None) -> Guidance:
        """Findings for a profile, which need not be whole: machine code or a timeline will do.

        `work` is the least work of a call and `time_us` its time, None where unknown. Tools that
        read counters or machine code look at the longest kernel and at every other that takes a
        quarter of the time, but at none where a program's kernels take less than that together, nor
        at a library's, which nobody can edit; tools that read the timeline look at the profile
        once.
        """
        running = notes.running_share(profile.timeline)
        watched = _watched(profile) if running is None or running >= LEAST_SHARE else []
        cases = [Case(work, profile, kernel, time_us) for kernel in watched]
        if not profile.kernels and profile.timeline is None:
            gaps = notes.unprofiled(profile)
            return Guidance(roofline=profile.roofline, notes=(*gaps, *self._notes))
        problems: list[str] = []
        ranked = self._ranked(cases, Case(work, profile, _longest(profile), time_us), problems)
        findings = tuple(item.finding for item in ranked if not item.left_out)
        return Guidance(
            roofline=profile.roofline,
            findings=findings,
            notes=(
                *notes.about_kernels(profile, cases, findings),
                *notes.about_idling(running, LEAST_SHARE),
                *notes.consequences(item for item in ranked if item.left_out),
                *dict.fromkeys(problems),
                *notes.missing(profile),
                *self._notes,
            ),
        )

    def _ranked(
        self, cases: Sequence[Case], whole: Case, problems: list[str]
    ) -> list[ranking.Scored]:
        """What all tools say about all kernels and the timeline, every tool once."""
        system = examine(self._of_level(True), whole, problems)
        local = self._of_level(False)
        found = [(case, examine(local, case, problems)) for case in cases]
        longest = whole.share or 1.0
        running = notes.running_share(whole.profile.timeline)
        scored = []
        for case, findings in found:
            several = len(found) > 1 or any(kernel.library for kernel in whole.profile.kernels)
            named = [_about(case, finding) for finding in findings] if several else findings
            share = 1.0 if case.share is None else min(1.0, case.share / longest)
            share *= 1.0 if running is None else running
            scored += self._score(named, beside=system, share=share)
        scored += self._score(system, beside=found[0][1] if found else (), share=1.0)
        return ranking.merged(scored)

    def _score(
        self, findings: Sequence[Finding], *, beside: Sequence[Finding], share: float
    ) -> list[ranking.Scored]:
        return ranking.score(
            findings, beside=beside, weights=self._weights, causes=self._causes, share=share
        )

    def _of_level(self, system: bool) -> list[MicroTool]:
        return [tool for tool in self._tools if (tool.level == "system") is system]


def _longest(profile: Profile) -> KernelProfile:
    """The kernel that takes longest; an empty one where only a timeline was taken."""
    return profile.dominant or KernelProfile(name="")


def _watched(profile: Profile) -> list[KernelProfile]:
    """The kernels worth a look, the longest first; all of them where none was timed.

    Those of libraries are worth none.
    """
    longest = profile.dominant
    if longest is None:
        return []
    times = {id(kernel): kernel.total_us or 0.0 for kernel in profile.kernels}
    least = LEAST_SHARE * sum(times.values())
    others = [kernel for kernel in profile.kernels if kernel is not longest]
    others.sort(key=lambda kernel: -times[id(kernel)])
    worth = [longest, *(kernel for kernel in others if times[id(kernel)] >= least)]
    return [kernel for kernel in worth if not kernel.library]


def _about(case: Case, finding: Finding) -> Finding:
    """The finding with its kernel's name, and the gain that its share of the time leaves."""
    gain, share = finding.expected_gain, case.share
    if gain is not None and share is not None:
        gain = round(1 / (1 - share + share / gain), 2)
    return finding.model_copy(update={"kernel": case.kernel.name, "expected_gain": gain})


def _causes(tool: MicroTool) -> frozenset[str]:
    """What explains the tool's findings; tools of others need not say."""
    return frozenset(getattr(tool, "symptom_of", ()))
