"""What a tool's advice was worth: every finding, and what the children that followed it came to.

A child *follows* a finding of its parent if it claims one of the methods the finding points to.
Several findings may point to what one child did; each is credited alike, since one measurement
cannot tell which of them was right. Attribution by ablation can: `attributed_follow_ups`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mcts.domain import Attribution, Evaluation, Finding, StateSignature, Timing
from mcts.domain.lesson import Outcome
from mcts.journal.record import NodeRecord, Result


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


def attributed_follow_ups(result: Result) -> Iterator[FollowUp]:
    """`follow_ups`, each with the gain of the methods that the finding pointed to, if those were
    attributed on their own.

    Advice whose methods the machine code never shows was not followed, and teaches nothing.
    """
    noise = result.ranking.noise
    by_id = {node.id: node for node in result.nodes}
    for follow_up in follow_ups(result):
        child = by_id[follow_up.child]
        attributed = _attributed(follow_up, child, by_id)
        if attributed and all(found.realised is False for found in attributed):
            continue
        yield _with_own_gain(follow_up, attributed, noise)


def _attributed(
    follow_up: FollowUp, child: NodeRecord, by_id: dict[int, NodeRecord]
) -> list[Attribution]:
    """The attributions of the child's methods that its parent's finding points to; empty unless all
    of them were attributed.
    """
    guidance = by_id[child.parent].guidance if child.parent is not None else None
    pointed_to = {
        method
        for finding in (guidance.findings if guidance else ())
        if finding.tool == follow_up.tool
        for method in finding.methods
    }
    claimed = pointed_to & set(child.candidate.methods if child.candidate else ())
    found = [one for one in child.attributions if one.method in claimed and one.worth != "unknown"]
    return found if claimed and len({one.method for one in found}) == len(claimed) else []


def _with_own_gain(follow_up: FollowUp, attributed: list[Attribution], noise: float) -> FollowUp:
    """The follow-up with the gain of the best of its methods, which were not measured together."""
    measured = [one for one in attributed if one.gain is not None and one.realised is not False]
    best = max(measured, key=lambda one: one.gain or 0.0, default=None)
    lesson = best.lesson(StateSignature(), noise=noise) if best else None
    if lesson is None:
        return follow_up
    return replace(follow_up, outcome=lesson.outcome, gain=lesson.gain)
