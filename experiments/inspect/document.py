"""An inspection as one JSON object, for scripts."""

from __future__ import annotations

from typing import Any

from experiments.inspect.results import Inspection, Part
from mcts.domain import Finding


def as_json(inspection: Inspection) -> dict[str, Any]:
    """Everything that was found. The place under the roofline is the first part's, which takes
    longest; findings stand in the order of the parts, strongest first within each."""
    first = inspection.parts[0]
    roofline = first.guidance.roofline
    timeline = next((p.profile.timeline for p in inspection.parts if p.profile.timeline), None)
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
        "findings": [
            _finding(finding, part)
            for part in inspection.parts
            for finding in part.guidance.findings
        ],
        "kernels": [
            {"name": kernel.name, "sass": kernel.sass.model_dump() if kernel.sass else None}
            for part in inspection.parts
            for kernel in part.profile.kernels
        ],
        "timeline": timeline.model_dump() if timeline else None,
        "missing": inspection.missing,
    }


def _finding(finding: Finding, part: Part) -> dict[str, Any]:
    about = finding.kernel or (part.kernel.name if part.kernel else "")
    return finding.model_dump(mode="json") | {"kernel": "" if finding.level == "system" else about}
