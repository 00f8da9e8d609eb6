"""What limits a node by its roofline, and how far it is from what the hardware allows."""

from __future__ import annotations

from experiments.deliverables.markdown import code, codes, plain
from experiments.text.floor import floor_text
from mcts.domain import Profile
from mcts.journal.record import NodeRecord

_FINDINGS = 3


def profile_of(node: NodeRecord) -> Profile | None:
    """The node's profile, where it has kernels with counters."""
    profile = node.evaluation.profile if node.evaluation else None
    return profile if profile and any(kernel.metrics for kernel in profile.kernels) else None


def limited_by(node: NodeRecord) -> str:
    """``memory (DRAM)``; empty if it is not known."""
    roofline = node.roofline
    if roofline is None or roofline.bound == "unknown":
        return ""
    return f"{roofline.bound} ({roofline.level})" if roofline.level else roofline.bound


def limits_text(best: NodeRecord) -> str:
    """Class, floor, and what the tools still see."""
    roofline = best.roofline
    if roofline is None:
        return "The best kernel was not profiled: what is left to gain is not known."
    bound = limited_by(best)
    words = f"Limited by {plain(bound)}" if bound else "What limits it is not known"
    paragraph = (
        f"{words} (confidence {100 * roofline.confidence:.0f} %). {plain(roofline.reason)} "
        f"{floor_text(best, roofline)}"
    )
    findings = (best.guidance.findings if best.guidance else ())[:_FINDINGS]
    seen = [
        f"- {code(finding.tool)} still sees {codes(map(str, finding.evidence))}"
        for finding in findings
    ]
    return "\n".join([paragraph, *([""] if seen else []), *seen])
