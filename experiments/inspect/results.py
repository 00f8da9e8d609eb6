"""What an inspection found: profiles with their roofline and guidance, and all of it as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from experiments.inspect.facts import kernel_shares
from mcts.domain import Finding, Guidance, Hardware, KernelProfile, Profile, Work
from mcts.domain import metrics as m
from microtools.what_if import Step

Origin = Literal["live", "replayed", "static", "report"]
"""`static`: nothing was run, only machine code was read. `report`: made elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One profile under the roofline, with the tools' guidance.

    `time_us` is per call of the plan, or of one launch if there is no plan. `what_if` is what
    repairing one finding after another would gain.
    """

    profile: Profile
    guidance: Guidance
    work: Work | None = None
    time_us: float | None = None
    what_if: tuple[Step, ...] = ()

    @property
    def kernel(self) -> KernelProfile | None:
        """The kernel that takes longest, which most of the guidance is about."""
        return self.profile.dominant


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """Everything there is to show about a file; the part that takes longest stands first."""

    file: Path
    origin: Origin
    parts: tuple[Part, ...]
    source: str | None = None
    recorded_on: str | None = None

    @property
    def hardware(self) -> Hardware | None:
        """What was measured on, with the recording's date if it is a replay."""
        found = next((p.profile.hardware for p in self.parts if p.profile.hardware), None)
        if found is None or self.recorded_on is None:
            return found
        return found.model_copy(update={"recorded_on": self.recorded_on})

    @property
    def missing(self) -> dict[str, str]:
        """What is not known of any part, and why."""
        return {k: v for part in reversed(self.parts) for k, v in part.profile.missing.items()}


def as_one_part(profile: Profile, *, work: Work | None, time_us: float | None) -> tuple[Part, ...]:
    """What ran together as one part: its kernels share a task, or a timeline."""
    return tuple(_examined([Part(profile=profile, guidance=_NONE, work=work, time_us=time_us)]))


def parts_by_kernel(profile: Profile, *, work: Work | None = None) -> tuple[Part, ...]:
    """A part per kernel, longest first; the timeline goes with the first of them.

    `work` is that of the first, which takes longest.
    """
    ordered = sorted(profile.kernels, key=lambda kernel: -(kernel.total_us or 0.0))
    parts = []
    for place, kernel in enumerate(ordered):
        first = place == 0
        own = profile.model_copy(
            update={
                "kernels": (kernel,),
                "timeline": profile.timeline if first else None,
                "roofline": None,
            }
        )
        duration = kernel.value(m.DURATION)
        time_us = duration / 1e3 if duration else None
        part = Part(profile=own, guidance=_NONE, work=work if first else None, time_us=time_us)
        parts.append(part)
    return tuple(_examined(parts or [Part(profile=profile, guidance=_NONE)]))


_NONE = Guidance()


def _examined(parts: Iterable[Part]) -> Iterable[Part]:
    from microtools.advisor import RooflineAdvisor
    from profilers.roofline import classify

    advisor = RooflineAdvisor()
    for part in parts:
        profile, work, time_us = part.profile, part.work, part.time_us
        if profile.roofline is None:
            position = classify(work=work, profile=profile, time_us=time_us)
            profile = profile.model_copy(update={"roofline": position})
        guidance = advisor.examine(work=work, profile=profile, time_us=time_us)
        steps = advisor.what_if(work=work, profile=profile, time_us=time_us)
        yield replace(part, profile=profile, guidance=guidance, what_if=tuple(steps))


def as_json(inspection: Inspection) -> dict[str, Any]:
    """Everything that was found. The place under the roofline is the first part's, which takes
    longest; findings stand in the order of the parts, strongest first within each."""
    first = inspection.parts[0]
    roofline = first.guidance.roofline
    timeline = next((p.profile.timeline for p in inspection.parts if p.profile.timeline), None)
    modules = first.profile.modules
    hardware = inspection.hardware
    return {
        "file": str(inspection.file),
        "hardware": str(hardware) if hardware else None,
        "replayed": inspection.origin == "replayed",
        "time_us": first.time_us,
        "class": roofline.bound if roofline else "unknown",
        "level": roofline.level if roofline else None,
        "confidence": roofline.confidence if roofline else None,
        "gaps": roofline.gap.model_dump() if roofline else None,
        "budget": dict(roofline.method_budget) if roofline else None,
        "near_peak": roofline.near_peak if roofline else None,
        "beaten_by": roofline.beaten_by if roofline else None,
        "findings": [
            _finding(finding, part)
            for part in inspection.parts
            for finding in part.guidance.findings
        ],
        "what_if": [
            {"kernel": part.kernel.name if part.kernel else "", "tool": step.tool}
            | {"gain": round(step.outlook.gain, 2), "next_limit": step.outlook.limit}
            for part in inspection.parts
            for step in part.what_if
        ],
        "kernels": [
            {
                "name": one.kernel.name,
                "launches": one.kernel.launches,
                "time_us": one.us,
                "share": one.share,
                "limit": one.limit,
                "library": one.kernel.library,
                "sass": one.kernel.sass.model_dump() if one.kernel.sass else None,
            }
            for part in inspection.parts
            for one in kernel_shares(part.profile)
        ],
        "modules": modules.model_dump() if modules else None,
        "timeline": timeline.model_dump() if timeline else None,
        "missing": inspection.missing,
    }


def _finding(finding: Finding, part: Part) -> dict[str, Any]:
    about = finding.kernel or (part.kernel.name if part.kernel else "")
    return finding.model_dump(mode="json") | {"kernel": "" if finding.level == "system" else about}
