"""For every tool: measurements that trigger it, ever more strongly, and some that must not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mcts.microtool.tool import KernelContext


@dataclass(frozen=True)
class Trigger:
    """`firing(0)` is just past the tool's threshold, `firing(1)` as bad as it gets.

    `silent` are contexts in which the tool must be silent. Without any one of `needs`, counters, it
    must be silent too.
    """

    firing: Callable[[float], KernelContext]
    silent: Sequence[KernelContext] = ()
    needs: Sequence[str] = field(default=())
