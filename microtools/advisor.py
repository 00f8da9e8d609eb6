"""From a profile to ranked guidance: the roofline class gates the tools, all gated tools run.

The tools are chosen by rule: invoking them proactively did better than letting the model pick
(KernelPro, ablation of stage 2). `microtools.toolbox` lets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pydantic import ValidationError

from mcts.domain import Evaluation, Finding, Guidance, KernelProfile, KernelTask, Profile, Work
from mcts.microtool.relief import Relief
from mcts.microtool.tool import KernelContext, MicroTool
from mcts.ports import Advisor
from microtools import notes, ranking, registry
from microtools.gains import checked, outlook
from microtools.reliefs import RELIEFS
from microtools.what_if import Step, steps

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
        self._by_name = {tool.name: tool for tool in self._tools}

    def advise(self, task: KernelTask, evaluation: Evaluation) -> Guidance:
        """Findings for a measured candidate; for a failed one, what failed."""
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

        `work` is the least work of a call and `time_us` its time, None if unknown. Tools that
        read counters or machine code look at the longest kernel and at every other that takes a
        quarter of the time, but at none if a program's kernels take less than that together, nor
        at a library's, which nobody can edit; tools that read the timeline look at the profile
        once.
        """
        running = notes.running_share(profile.timeline)
        watched = _examined_kernels(profile) if running is None or running >= LEAST_SHARE else []
        contexts = [KernelContext(work, profile, kernel, time_us) for kernel in watched]
        if not profile.kernels and profile.timeline is None:
            gaps = notes.unprofiled(profile)
            return Guidance(roofline=profile.roofline, notes=(*gaps, *self._notes))
        problems: list[str] = []
        ranked = self._ranked(
            contexts, KernelContext(work, profile, _longest(profile), time_us), problems
        )
        findings = tuple(item.finding for item in ranked if not item.left_out)
        return Guidance(
            roofline=profile.roofline,
            findings=findings,
            notes=(
                *notes.about_kernels(profile, contexts, findings),
                *notes.about_idling(running, LEAST_SHARE),
                *notes.left_out([item for item in ranked if item.left_out]),
                *dict.fromkeys(problems),
                *notes.missing(profile),
                *self._notes,
            ),
        )

    def what_if(self, *, work: Work | None, profile: Profile, time_us: float | None) -> list[Step]:
        """What one repair after another would gain, of the kernel that takes longest.

        What gains nothing yet takes part, since it may after another repair; consequences do not,
        nor do tools of others that fail. None of a library's kernel, or where kernels hardly run.
        """
        longest, running = profile.dominant, notes.running_share(profile.timeline)
        if longest is None or longest.library or (running or 1.0) < LEAST_SHARE:
            return []
        context = KernelContext(work, profile, longest, time_us)
        system = examine(self._of_level(True), context, [])
        found = [
            self._with_outlook(context, finding, [])
            for finding in examine(self._of_level(False), context, [])
        ]
        reliefs: dict[str, Relief] = {}
        for one in self._score(found, beside=system, share=1.0):
            if one.explained or one.finding.expected_gain is None:
                continue
            relief = self._relief(context, one.finding.tool)
            if relief is not None:
                reliefs[one.finding.tool] = relief
        return steps(context, reliefs)

    def _ranked(
        self, contexts: Sequence[KernelContext], whole: KernelContext, problems: list[str]
    ) -> list[ranking.Scored]:
        """What all tools say about all kernels and the timeline, every tool once."""
        system = examine(self._of_level(True), whole, problems)
        local = self._of_level(False)
        found = [
            (
                context,
                [
                    self._with_outlook(context, finding, problems)
                    for finding in examine(local, context, problems)
                ],
            )
            for context in contexts
        ]
        longest = whole.share or 1.0
        running = notes.running_share(whole.profile.timeline)
        scored = []
        for context, findings in found:
            several = len(found) > 1 or any(kernel.library for kernel in whole.profile.kernels)
            share = 1.0 if context.share is None else min(1.0, context.share / longest)
            share *= 1.0 if running is None else running
            own = self._score(findings, beside=system, share=share)
            scored += [
                replace(one, finding=_about(context, one.finding)) if several else one
                for one in own
            ]
        scored += self._score(system, beside=found[0][1] if found else (), share=1.0)
        return ranking.merged(scored)

    def _with_outlook(
        self, context: KernelContext, finding: Finding, problems: list[str]
    ) -> Finding:
        """With what following it would gain by the model of the kernel's time, where that says."""
        try:
            relief = self._relief(context, finding.tool)
            found = outlook(context, relief) if relief is not None else None
        except Exception as error:  # noqa: BLE001 - the boundary to tools of others
            failed = f"its relief failed: {type(error).__name__}: {error}"
            problems.append(f"micro-tool {finding.tool}: {failed}")
            return finding
        if found is None:
            return finding
        return finding.model_copy(
            update={
                "expected_gain": round(found.gain, 2),
                "expected_low": round(found.low, 2),
                "expected_high": round(found.high, 2),
                "next_limit": found.limit,
            }
        )

    def _relief(self, context: KernelContext, name: str) -> Relief | None:
        """What following a tool's advice leaves; None where nobody says. What others raise."""
        return relief_of(self._by_name[name], context)

    def _score(
        self, findings: Sequence[Finding], *, beside: Sequence[Finding], share: float
    ) -> list[ranking.Scored]:
        return ranking.score(
            findings, beside=beside, weights=self._weights, causes=self._causes, share=share
        )

    def _of_level(self, system: bool) -> list[MicroTool]:
        return [tool for tool in self._tools if (tool.level == "system") is system]


def relief_of(tool: MicroTool, context: KernelContext) -> Relief | None:
    """What following a tool's advice leaves; None where nobody says. What the tool raises."""
    assumed = RELIEFS.get(tool.name) if tool in registry.builtin() else None
    make = getattr(tool, "relief", None) or assumed
    relief = make(context) if make is not None else None
    return None if relief is None else checked(relief)


def _longest(profile: Profile) -> KernelProfile:
    """The kernel that takes longest; an empty one if there is only a timeline."""
    return profile.dominant or KernelProfile(name="")


def _examined_kernels(profile: Profile) -> list[KernelProfile]:
    """The kernels to examine, longest first; all of them if none was timed.

    Library kernels are not examined.
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


def _about(context: KernelContext, finding: Finding) -> Finding:
    """The finding with its kernel's name, and the gain that its share of the time leaves."""
    share = context.share
    names = ("expected_gain", "expected_low", "expected_high")
    gains = {name: gain for name in names if (gain := getattr(finding, name)) is not None}
    if share is not None:
        gains = {name: round(1 / (1 - share + share / gain), 2) for name, gain in gains.items()}
    return finding.model_copy(update={"kernel": context.kernel.name, **gains})


def _causes(tool: MicroTool) -> frozenset[str]:
    """What explains the tool's findings; tools of others need not say."""
    return frozenset(getattr(tool, "symptom_of", ()))


def examine(tools: Iterable[MicroTool], context: KernelContext, notes: list[str]) -> list[Finding]:
    """What the tools with affinity to the case's roofline class say, in their order.

    If the class is unknown, all of them run. A tool that raises or answers with anything but a
    sound finding of its own is skipped, and `notes` says so.
    """
    found = []
    for tool in tools:
        try:
            if context.bound != "unknown" and context.bound not in tool.affinity:
                continue
            finding = _checked(tool, tool.examine(context))
        except _Nonsense as nonsense:
            notes.append(f"micro-tool {tool.name} {nonsense}: skipped")
            continue
        except Exception as error:  # noqa: BLE001 - the boundary to tools of others
            notes.append(f"micro-tool {tool.name} failed: {type(error).__name__}: {error}")
            continue
        if finding is not None:
            found.append(finding)
    return found


class _Nonsense(Exception):
    """An answer that is no finding of the tool's."""


def _checked(tool: MicroTool, answer: object) -> Finding | None:
    """The answer with the tool's level; read again, since `model_construct` checks nothing."""
    if answer is None:
        return None
    if not isinstance(answer, Finding):
        raise _Nonsense(f"answered with a {type(answer).__name__}, not a Finding")
    if answer.tool != tool.name:
        raise _Nonsense(f"answered in the name of {answer.tool!r}")
    try:
        content = answer.model_dump(warnings="none")
        return Finding.model_validate({**content, "level": tool.level})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise _Nonsense(f"answered with a broken finding ({field}: {first['msg']})") from None
