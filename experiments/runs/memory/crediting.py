"""What a tool's advice came to, once it is known which of a child's methods brought its gain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from experiments.runs.memory.calibration import FollowUp, follow_ups
from mcts.domain import Attribution, StateSignature
from mcts.domain.objective import time_noise
from mcts.journal.record import NodeRecord, Result


def credited(result: Result) -> Iterator[FollowUp]:
    """`follow_ups`, each with the gain of the methods that the finding pointed to, where those were
    weighed on their own.

    Advice whose methods the machine code never shows was not followed, and teaches nothing.
    """
    baseline = result.baseline.evaluation
    noise = time_noise(baseline) if baseline else 0.0
    by_id = {node.id: node for node in result.nodes}
    for follow_up in follow_ups(result):
        child = by_id[follow_up.child]
        weighed = _weighed(follow_up, child, by_id)
        if weighed and all(found.realised is False for found in weighed):
            continue
        yield _with_own_gain(follow_up, weighed, noise)


def _weighed(
    follow_up: FollowUp, child: NodeRecord, by_id: dict[int, NodeRecord]
) -> list[Attribution]:
    """What is known of the child's methods that its parent's finding points to; nothing unless all
    of them were weighed.
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


def _with_own_gain(follow_up: FollowUp, weighed: list[Attribution], noise: float) -> FollowUp:
    """The best of the methods stands for the advice: together they were never measured alone."""
    there = [one for one in weighed if one.gain is not None and one.realised is not False]
    best = max(there, key=lambda one: one.gain or 0.0, default=None)
    lesson = best.lesson(StateSignature(), noise=noise) if best else None
    if lesson is None:
        return follow_up
    return replace(follow_up, outcome=lesson.outcome, gain=lesson.gain)
