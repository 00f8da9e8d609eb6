"""What a model looked up in a library, in words, from the usage that the journal keeps.

Anybody's proposer may have written a usage: what cannot be read is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mcts.journal.record import NodeRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """One look-up: the tool, what was asked, what came back in short or why it was refused; bytes
    of the answer, and seconds it took."""

    tool: str
    asked: str
    found: str
    bytes: int
    seconds: float
    refused: bool

    @property
    def question(self) -> str:
        """The tool with what it was asked."""
        return ": ".join(filter(None, [self.tool, self.asked]))


def lookups_of(usage: Mapping[str, Any]) -> tuple[Looked, ...]:
    """The look-ups of one proposal, in their order."""
    told = usage.get("lookups")
    if not isinstance(told, list | tuple):
        return ()
    return tuple(_looked(one) for one in told if isinstance(one, Mapping))


def lookups_text(looked: Iterable[Looked]) -> str:
    """``5 look-ups, 1 refused, 12,345 bytes, 0.021 s``; empty if there was none."""
    every = tuple(looked)
    if not every:
        return ""
    refused = sum(one.refused for one in every)
    parts = [
        f"{len(every)} look-up{'' if len(every) == 1 else 's'}",
        *([f"{refused} refused"] if refused else []),
        f"{sum(one.bytes for one in every):,} bytes",
        f"{sum(one.seconds for one in every):.3f} s",
    ]
    return ", ".join(parts)


def library_of(nodes: Iterable[NodeRecord]) -> str:
    """The library that a run's models looked into; empty if they looked into none."""
    named = (node.usage.get("library") for node in nodes)
    return next((name for name in named if isinstance(name, str)), "")


def _looked(told: Mapping[str, Any]) -> Looked:
    size, seconds = told.get("bytes"), told.get("seconds")
    return Looked(
        tool=str(told.get("tool", "")),
        asked=str(told.get("asked", "")),
        found=str(told.get("found", "")),
        bytes=size if isinstance(size, int) else 0,
        seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
        refused=told.get("refused") is True,
    )
