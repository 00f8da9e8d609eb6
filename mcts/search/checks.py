"""Checks that the settings of several searches share."""

from __future__ import annotations


def check_repairs(repairs: int) -> None:
    """ValueError for a number of repairs that means nothing."""
    if repairs < 0:
        raise ValueError("repairs must not be negative")


def check_counts(**counts: int) -> None:
    """ValueError, by name, for a count below 1."""
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{name} must be at least 1")
