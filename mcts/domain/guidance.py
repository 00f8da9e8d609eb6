"""What an expert would say about a profile, ranked, in plain language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from mcts.domain.base import Noun
from mcts.domain.profile import Axis, Roofline


class Evidence(Noun):
    """A measured value and the threshold that makes it worth reporting."""

    metric: str
    value: float
    threshold: float
    unit: str = ""

    def __str__(self) -> str:
        name = self.metric
        return f"{name} = {self.value:g}{self.unit} (threshold {self.threshold:g}{self.unit})"


Level = Literal["kernel", "instruction", "system"]
"""What a tool reads: hardware counters (ncu), machine code (SASS), or the timeline (nsys)."""


class Finding(Noun):
    """What one tool found: how strong in [0, 1], on what evidence, what to do, what to expect.

    `expected_gain` is a speedup factor, between `expected_low` and `expected_high` in four of five
    cases where these are known, and `next_limit` what limits then; `methods` are playbook ids;
    `lines` are places in the source, empty if unknown. `kernel` names the kernel meant if there
    are several.
    """

    tool: str
    level: Level = "kernel"
    axis: Axis
    kernel: str = ""
    lines: tuple[int, ...] = ()
    strength: float = Field(ge=0, le=1)
    evidence: tuple[Evidence, ...]
    advice: str
    methods: tuple[str, ...] = ()
    expected_gain: float | None = Field(default=None, ge=1)
    expected_low: float | None = Field(default=None, ge=1)
    expected_high: float | None = Field(default=None, ge=1)
    next_limit: str = ""

    @property
    def expectation(self) -> str:
        """``about 2.13x (1.7 to 4.3), then limited by DRAM``; "" if nothing can be said."""
        if self.expected_gain is None:
            return ""
        text = f"about {self.expected_gain:.2f}x"
        if self.expected_low is not None and self.expected_high is not None:
            text += f" ({self.expected_low:.1f} to {self.expected_high:.1f})"
        return f"{text}, then limited by {self.next_limit}" if self.next_limit else text


class Guidance(Noun):
    """Findings, strongest first, under a roofline position; renders itself to text."""

    roofline: Roofline | None = None
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    def render(self, *, limit: int = 5) -> str:
        """The text a prompt or a person gets: class, budget, then at most `limit` findings."""
        lines: list[str] = []
        if self.roofline is not None:
            lines += _roofline_lines(self.roofline)
        for rank, finding in enumerate(self.findings[:limit], start=1):
            gain = f" Expect {finding.expectation}." if finding.expectation else ""
            lines.append(f"{rank}. [{', '.join(_label(finding))}] {finding.advice}{gain}")
            lines += [f"   evidence: {evidence}" for evidence in finding.evidence]
            if finding.methods:
                lines.append(f"   methods: {', '.join(finding.methods)}")
        hidden = len(self.findings) - limit
        if hidden > 0:
            lines.append(f"({hidden} weaker findings left out)")
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines) or "No guidance: nothing was profiled."


def _label(finding: Finding) -> Iterator[str]:
    """Tool and axis, then kernel and source lines if they are known."""
    yield finding.tool
    yield finding.axis
    if finding.kernel:
        yield f"kernel {finding.kernel}"
    if finding.lines:
        yield f"line{'s' if len(finding.lines) > 1 else ''} {', '.join(map(str, finding.lines))}"


def _roofline_lines(roofline: Roofline) -> list[str]:
    gap = roofline.gap
    lines = [
        f"Bound: {roofline.bound} (confidence {roofline.confidence:.0%}).",
        *([roofline.reason] if roofline.reason else []),
        f"Gap to the ceiling: compute {gap.compute:.0%}, memory {gap.memory:.0%}, "
        f"latency {gap.latency:.0%}.",
    ]
    if roofline.near_peak:
        lines.append("Near its peak: little is left to gain here.")
    else:
        slots = ", ".join(f"{n} {axis}" for axis, n in roofline.method_budget.items() if n)
        lines.append(f"Method slots for the next change: {slots or 'none'}.")
    return lines
