"""Arithmetic of time intervals, in whole nanoseconds so that no order of adding changes a sum."""

from __future__ import annotations

from collections.abc import Iterable

Interval = tuple[int, int]
"""Start and end; one that ends before it starts counts as empty."""


def covered(intervals: Iterable[Interval]) -> tuple[int, int]:
    """Length of what at least one interval covers, and of what two or more do."""
    edges: list[Interval] = []
    for start, end in intervals:
        if end > start:
            edges += [(start, 1), (end, -1)]
    once = twice = depth = 0
    since = 0
    for at, change in sorted(edges):
        once += (at - since) if depth >= 1 else 0
        twice += (at - since) if depth >= 2 else 0
        depth += change
        since = at
    return once, twice


def within(inner: Interval, outer: Interval) -> Interval:
    """What both intervals cover; ends before it starts where that is nothing."""
    return max(inner[0], outer[0]), min(inner[1], outer[1])


def microseconds(nanoseconds: float) -> float:
    return nanoseconds / 1e3
