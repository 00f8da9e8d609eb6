"""What stood between untrusted code and the machine while it ran."""

from __future__ import annotations

from typing import Literal

from mcts.domain.base import Noun

IsolationLevel = Literal["full", "partial", "process"]


class Isolation(Noun):
    """How a candidate was held.

    full: its own user, process, network and mount namespaces, Landlock, seccomp, no new
    privileges and resource limits. partial: some of them; `missing` says which not, and why.
    process: nothing but a process group, an allow-listed environment and resource limits.
    """

    level: IsolationLevel
    parts: tuple[str, ...] = ()
    missing: dict[str, str] = {}

    def __str__(self) -> str:
        if not self.missing:
            return self.level
        return f"{self.level} (without {', '.join(sorted(self.missing))})"
