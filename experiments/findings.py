"""What the micro-tools said of a node, as a fold of the report: a line, and a table behind it."""

from __future__ import annotations

import html
from collections.abc import Iterable

from mcts.domain import Finding, Guidance
from mcts.record import NodeRecord

_NAMED = 3


def finding_words(guidance: Guidance | None) -> str:
    """``memory-bound: excess_traffic, dram_saturated and 2 more``; empty without guidance."""
    if guidance is None:
        return ""
    tools = [finding.tool for finding in guidance.findings]
    if len(tools) > _NAMED:
        tools = [*tools[: _NAMED - 1], f"{len(tools) - _NAMED + 1} more"]
    bound = [f"{guidance.roofline.bound}-bound"] if guidance.roofline else []
    return ": ".join([*bound, *([", ".join(tools)] if tools else [])])


def findings_html(nodes: Iterable[NodeRecord]) -> str:
    """A fold per node that was advised on, the last of them open."""
    advised = [(node, node.guidance) for node in nodes if node.guidance is not None]
    return "".join(
        _fold(node, guidance, opened=node is advised[-1][0]) for node, guidance in advised
    )


def _fold(node: NodeRecord, guidance: Guidance, *, opened: bool) -> str:
    speed = f"{node.speedup:.2f}×" if node.speedup else node.kind
    head = f"<b>Node {node.id}, {speed}</b>"
    bound = f"{guidance.roofline.bound}-bound" if guidance.roofline else ""
    chips = "".join(f'<span class="chip">{_e(each.tool)}</span>' for each in guidance.findings)
    return (
        f"<details{' open' if opened else ''}><summary>{head} {bound} {chips}</summary>"
        f"{_position(guidance)}{_table(guidance.findings)}"
        + "".join(f'<p class="soft">{_e(note)}</p>' for note in guidance.notes)
        + "</details>"
    )


def _position(guidance: Guidance) -> str:
    """Where the kernel stands under the roofline."""
    roofline = guidance.roofline
    if roofline is None:
        return ""
    gap = roofline.gap
    left = (
        "Near its peak: little is left to gain."
        if roofline.near_peak
        else f"Left to the ceiling: compute {gap.compute:.0%}, memory {gap.memory:.0%}, "
        f"latency {gap.latency:.0%}."
    )
    return f'<p class="soft">{_e(roofline.reason)} {left}</p>'


def _table(findings: tuple[Finding, ...]) -> str:
    if not findings:
        return ""
    head = '<tr><th>tool</th><th class="num">strength</th><th>advice</th><th>evidence</th></tr>'
    rows = "".join(_row(finding) for finding in findings)
    return f'<div class="scroll"><table>{head}{rows}</table></div>'


def _row(finding: Finding) -> str:
    gain = f" Expect about {finding.expected_gain:.2f}×." if finding.expected_gain else ""
    evidence = "<br>".join(_e(str(each)) for each in finding.evidence)
    methods = f'<br><span class="soft">{_e(", ".join(finding.methods))}</span>'
    return (
        f'<tr><td>{_e(finding.tool)}<br><span class="soft">{_e(finding.axis)}</span></td>'
        f'<td class="num">{finding.strength:.0%}</td>'
        f'<td class="wide">{_e(finding.advice)}{gain}{methods if finding.methods else ""}</td>'
        f'<td class="wide">{evidence}</td></tr>'
    )


def _e(text: str) -> str:
    return html.escape(text, quote=True)
