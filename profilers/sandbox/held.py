"""What of a jail came about: the parts that hold, and why the others do not."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcts.domain import Isolation
    from mcts.domain.environment import IsolationLevel

FULL = frozenset(
    {"user", "pid", "network", "mount", "landlock", "seccomp", "no_new_privs"}
)  # fmt: skip
"""The parts that make an isolation full."""


def reason(error: OSError) -> str:
    """The kernel's words for it."""
    return error.strerror or str(error)


@dataclass(slots=True)
class Held:
    """Filled in while a process enters its jail, then reported.

    This is light to import, unlike the noun `Isolation` that the judge makes of it.
    """

    parts: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)

    @contextlib.contextmanager
    def attempt(self, part: str) -> Iterator[None]:
        """Note `part` as held, or, where the kernel refuses, as missing and go on."""
        try:
            yield
        except OSError as error:
            self.missing[part] = reason(error)
        else:
            self.parts.append(part)

    def has(self, part: str) -> bool:
        return part in self.parts

    def to_json(self) -> str:
        return json.dumps({"parts": self.parts, "missing": self.missing})

    @classmethod
    def from_json(cls, text: str) -> Held:
        """What `to_json` wrote; ValueError, KeyError or TypeError for anything else."""
        values = json.loads(text)
        return cls([str(part) for part in values["parts"]], dict(values["missing"]))

    def isolation(self) -> Isolation:
        """The noun, with its level."""
        from mcts.domain import Isolation

        level: IsolationLevel = "process"
        if set(self.parts) >= FULL:
            level = "full"
        elif FULL & set(self.parts):
            level = "partial"
        return Isolation(level=level, parts=tuple(self.parts), missing=self.missing)
