"""Advice held against what came of it: every finding, and the children that followed it.

A child *follows* a finding of its parent when it claims one of the methods the finding points to.
Several findings may point to what one child did; each is credited alike, since which of them was
right cannot be told from one measurement (attribution by ablation can).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mcts.domain import Evaluation, Finding, Timing
from mcts.journal.record import NodeRecord, Result

Outcome = Literal["improved", "neutral", "regressed", "failed"]


@dataclass(frozen=True, slots=True)
class Firing:
    """A finding at a node of a run."""

    node: int
    tool: str
    strength: float
    expected_gain: float | None


@dataclass(frozen=True, slots=True)
class FollowUp:
    """What a child that followed a finding came to.

    `gain` is the parent's time over the child's, None if the child failed. `improved` and
    `regressed` mean that the two 95 % intervals of the time do not overlap.
    """

    child: int
    tool: str
    expected_gain: float | None
    outcome: Outcome
    gain: float | None


def firings(result: Result) -> Iterator[Firing]:
    """Every finding of a run."""
    for node in result.nodes:
        for finding in node.guidance.findings if node.guidance else ():
            yield Firing(node.id, finding.tool, finding.strength, finding.expected_gain)


def follow_ups(result: Result) -> Iterator[FollowUp]:
    """Every finding of a run with each child that followed it; duplicates teach nothing."""
    by_id = {node.id: node for node in result.nodes}
    for child in result.nodes:
        parent = by_id.get(child.parent) if child.parent is not None else None
        if parent is None or child.candidate is None or child.kind == "duplicate":
            continue
        for finding in _followed(parent, child):
            outcome, gain = _compare(parent.evaluation, child.evaluation)
            yield FollowUp(child.id, finding.tool, finding.expected_gain, outcome, gain)


def _followed(parent: NodeRecord, child: NodeRecord) -> Iterator[Finding]:
    """The parent's findings, one per tool, that the child's claimed methods answer."""
    claimed = set(child.candidate.methods) if child.candidate else set()
    seen: set[str] = set()
    for finding in parent.guidance.findings if parent.guidance else ():
        if finding.tool not in seen and claimed & set(finding.methods):
            seen.add(finding.tool)
            yield finding


def _compare(parent: Evaluation | None, child: Evaluation | None) -> tuple[Outcome, float | None]:
    before, after = _timing(parent), _timing(child)
    if before is None or after is None:
        return "failed", None
    gain = before.median_us / after.median_us
    if after.high_us < before.low_us:
        return "improved", gain
    if after.low_us > before.high_us:
        return "regressed", gain
    return "neutral", gain


def _timing(evaluation: Evaluation | None) -> Timing | None:
    return evaluation.timing if evaluation is not None and evaluation.measured else None
