"""What one candidate changed against another, in words short enough for a tree."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from mcts.domain import Candidate
from mcts.domain.expressions import Scalar


@dataclass(frozen=True, slots=True)
class Changes:
    """Moved tunables as (name, before, after), lines added and removed, methods claimed, and what
    the author calls the new code, if there is a new name.
    """

    tunables: tuple[tuple[str, Scalar | None, Scalar | None], ...]
    lines_added: int
    lines_removed: int
    methods: tuple[str, ...]
    name: str = ""

    @property
    def source(self) -> bool:
        return bool(self.lines_added or self.lines_removed)

    def words(self) -> tuple[str, ...]:
        """One entry per change: ``VEC 1 → 4``, the new code's name, ``source +12 −3``."""
        moved = [f"{name} {_show(old)} → {_show(new)}" for name, old, new in self.tunables]
        if self.name:
            moved.append(self.name)
        if self.source:
            moved.append(f"source +{self.lines_added} −{self.lines_removed}")
        return tuple(moved)


def changes(before: Candidate, after: Candidate) -> Changes:
    """What `after` changed against `before`."""
    names = dict.fromkeys((*before.tunables, *after.tunables))
    moved = tuple(
        (name, before.tunables.get(name), after.tunables.get(name))
        for name in names
        if before.tunables.get(name) != after.tunables.get(name)
    )
    added = removed = 0
    if before.source != after.source:
        for line in source_diff(before, after)[2:]:
            added += line.startswith("+")
            removed += line.startswith("-")
    return Changes(moved, added, removed, after.methods, new_name(before, after))


def new_name(before: Candidate, after: Candidate) -> str:
    """What its author calls the code of `after`; empty if that is the code of `before`, or is
    called the same.
    """
    return "" if before.source == after.source or before.name == after.name else after.name


def source_diff(before: Candidate, after: Candidate) -> list[str]:
    """Unified diff of the two sources, empty if they are equal."""
    return list(
        difflib.unified_diff(
            before.source.splitlines(),
            after.source.splitlines(),
            fromfile="baseline",
            tofile="best",
            lineterm="",
        )
    )


def _show(value: Scalar | None) -> str:
    return "–" if value is None else str(value)
