"""What following a tool's advice leaves of a kernel's work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Relief:
    """What a repair leaves, in [0, 1]: of the work of units and of waits, by their counters.

    What is not named stays; of waits that are not named as much as of the issued instructions.
    `parallel` is what more parallelism leaves of the time spent waiting. `span` is what evening the
    work out over the multiprocessors leaves of the time, where some stood idle part of it: units
    then do the same in less time.
    """

    work: Mapping[str, float] = field(default_factory=dict)
    waits: Mapping[str, float] = field(default_factory=dict)
    parallel: float = 1.0
    span: float = 1.0
