"""For every tool: numbers that are ill, more and more so, and numbers that only look it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from microtools.tool import Case


@dataclass(frozen=True)
class Ailment:
    """`ill(0)` is just past the tool's threshold, `ill(1)` as bad as it gets.

    `healthy` are cases in which the tool must be silent. Without any one of `needs`, counters, it
    must be silent too.
    """

    ill: Callable[[float], Case]
    healthy: Sequence[Case] = ()
    needs: Sequence[str] = field(default=())
