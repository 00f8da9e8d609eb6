"""The seam to a library's source: what a proposer may look up while it writes a variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryTool:
    """One kind of look-up. `says` tells a model when to use it; `parameters` is the JSON schema of
    its arguments, an object.
    """

    name: str
    says: str
    parameters: Mapping[str, Any]


@runtime_checkable
class Library(Protocol):
    """Source that others wrote, to be searched and read. Thread-safe.

    `name` says what it is and which version, for prompts and for people.
    """

    @property
    def name(self) -> str: ...

    @property
    def tools(self) -> Sequence[LibraryTool]: ...

    def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """What the tool brings: plain text that cites path and line, of a bounded length.

        The same arguments bring the same text as long as the source stays as it is. Arguments come
        from a model, so that anything may be in them. Raises InputError where it refuses: one line
        that says what to ask instead. WorldError where the source cannot be read any more.
        """
        ...

    def close(self) -> None:
        """Give up what it holds; idempotent."""
        ...
