"""Which measures of a jail came into force, and why the others did not."""

from __future__ import annotations

import contextlib
import json
import os
import select
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcts.errors import WorldError

if TYPE_CHECKING:
    from mcts.domain import Isolation, IsolationLevel

FULL = frozenset(
    {"user", "pid", "network", "mount", "landlock", "seccomp", "no_new_privs"}
)  # fmt: skip
"""With all of these, isolation counts as full."""


def reason(error: OSError) -> str:
    """The kernel's message for `error`."""
    return error.strerror or str(error)


@dataclass(slots=True)
class JailReport:
    """Filled in while a process enters its jail, then sent to the judge.

    `parts` are the measures in force, `missing` the reasons why others are not. It imports
    little, unlike `mcts.domain.Isolation`, which the judge makes of it.
    """

    parts: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)

    @contextlib.contextmanager
    def attempt(self, part: str) -> Iterator[None]:
        """Note `part` as in force; if the kernel refuses, note it as missing and go on."""
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
    def from_json(cls, text: str) -> JailReport:
        """Read what `to_json` wrote; ValueError, KeyError or TypeError for anything else."""
        values = json.loads(text)
        return cls([str(part) for part in values["parts"]], dict(values["missing"]))

    def isolation(self) -> Isolation:
        """The domain's `Isolation`, with its level."""
        from mcts.domain import Isolation

        level: IsolationLevel = "process"
        if set(self.parts) >= FULL:
            level = "full"
        elif FULL & set(self.parts):
            level = "partial"
        return Isolation(level=level, parts=tuple(self.parts), missing=self.missing)


def read_report(fd: int, *, timeout_s: float) -> JailReport:
    """Read the line that a process writes once it is in its jail; WorldError if there is none."""
    text = b""
    while not text.endswith(b"\n"):
        if not select.select([fd], [], [], timeout_s)[0]:
            raise WorldError(f"a process did not enter its jail within {timeout_s:.0f} s")
        part = os.read(fd, 65536)
        if not part:
            raise WorldError("a process ended before it was in its jail")
        text += part
    return JailReport.from_json(text.decode())
