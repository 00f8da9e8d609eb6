"""What the methods are worth, in words: for terminals and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mcts.domain import Attribution
from mcts.journal.record import NodeRecord

TITLES = ("node", "method", "worth", "gain", "in machine code", "taken out by", "note")
_WORTHS = ("effective", "ineffective", "harmful", "implementation failed", "unknown")
_REALISED = {True: "yes", False: "no", None: "not known"}


def worth_text(found: Attribution) -> str:
    return found.worth.replace("_", " ")


def gain_text(found: Attribution) -> str:
    """``+25.0 % (+24.1 to +26.0)``: what the method gains; empty if that was not measured."""
    if found.gain is None or found.gain_low is None or found.gain_high is None:
        return ""
    low, gain, high = (100 * part for part in (found.gain_low, found.gain, found.gain_high))
    return f"{gain:+.1f} % ({low:+.1f} to {high:+.1f})"


def removal_text(found: Attribution) -> str:
    """How the method was taken out; empty if it could not be."""
    if found.tunables:
        return ", ".join(found.tunables)
    return "the proposer" if found.without is not None else ""


def cells(node: int, found: Attribution) -> tuple[str, ...]:
    """One text per title."""
    return (
        str(node),
        found.method,
        worth_text(found),
        gain_text(found),
        _REALISED[found.realised],
        removal_text(found),
        " ".join(found.note.split()),
    )


def attributed(nodes: Iterable[NodeRecord]) -> list[tuple[int, Attribution]]:
    """Every attribution with its node, in the order of the nodes."""
    return [(node.id, found) for node in nodes for found in node.attributions]


def counts_text(found: Iterable[Attribution]) -> str:
    """``3 effective, 1 implementation failed``; empty if nothing was taken out."""
    counts = Counter(map(worth_text, found))
    return ", ".join(f"{counts[word]} {word}" for word in _WORTHS if counts[word])


def one_line(node: int, found: Attribution) -> str:
    """``node 3, memory.vectorized_loads: effective, +25.0 % (+24.1 to +26.0)``"""
    gain = gain_text(found)
    unseen = ", not in the machine code" if found.realised is False else ""
    why = f": {' '.join(found.note.split())}" if found.worth == "unknown" else ""
    return (
        f"node {node}, {found.method}: {worth_text(found)}{f', {gain}' if gain else ''}"
        f"{unseen}{why}"
    )
