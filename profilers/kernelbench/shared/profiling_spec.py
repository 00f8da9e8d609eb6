"""The specification for the process that ncu profiles, and the command that starts it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field

_PROGRAM = "profilers.kernelbench.worker.profiled"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilingSpec:
    """Files, the device's ordinal or "cpu", a seed, and the folders for compilers' output.

    With `waits_for` the process imports PyTorch and then waits until there is such a file.
    """

    problem: str
    candidate: str
    device: int | str
    seed: int
    environment: dict[str, str] = field(default_factory=dict)
    waits_for: str | None = None

    def command(self) -> list[str]:
        """The command line that profiles it."""
        return [sys.executable, "-P", "-m", _PROGRAM, json.dumps(asdict(self))]
