"""The look-ups as tools for a proposer, with schemas and checked arguments.

Every refusal is an InputError of one line that a model can act on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from cutlass_search import text, tools
from cutlass_search.index.store import Index
from cutlass_search.reading import Passage
from cutlass_search.search.searching import KINDS
from mcts.errors import InputError, WorldError
from mcts.formats import SQLITE_ERRORS
from mcts.library import LibraryTool

MOST_CHARACTERS = 12_000
"""Most characters of a passage: about 3,400 tokens, 200 to 300 lines of the library."""


def _tool(name: str, says: str, **parameters: str) -> LibraryTool:
    """A tool whose parameters are described strings; the first one is required."""
    properties = {key: {"type": "string", "description": told} for key, told in parameters.items()}
    return LibraryTool(
        name=name,
        says=says,
        parameters={
            "type": "object",
            "properties": properties,
            "required": [next(iter(parameters))],
            "additionalProperties": False,
        },
    )


TOOLS = (
    _tool(
        "search",
        "Find the places that answer a question, best first.",
        query="Words or identifiers, such as 'swizzled layout atom for a WGMMA operand'. No "
        "operators, no regular expression.",
        kind=f"Only places of this kind: {', '.join(KINDS)}. Leave out for all.",
        path="Only files whose path holds this text. Leave out for all.",
    ),
    _tool(
        "read",
        "Read lines of a file.",
        path="A path as the other tools cite it, relative to the library.",
        lines="Such as 120-180; leave out for the start of the file.",
    ),
    _tool(
        "definition",
        "Show where a symbol is defined.",
        symbol="A C++ name, with or without its scope, such as cute::make_tma_copy.",
    ),
    _tool(
        "uses",
        "List lines that use a symbol, examples first.",
        symbol="A C++ name, such as warpgroup_wait.",
    ),
    _tool(
        "example_for",
        "Show the entry points of a concept, and an example that uses it.",
        concept="Such as 'TMA load', 'WGMMA', 'epilogue fusion', 'stream-K', 'grouped GEMM'.",
    ),
)


class CutlassLibrary:
    """A CUTLASS tree as a library for look-ups; owns `index`. Thread-safe."""

    tools = TOOLS

    def __init__(self, index: Index) -> None:
        self._index, self._lock = index, threading.Lock()
        self._answers: Mapping[str, Callable[..., str]] = {
            "search": self._search,
            "read": self._read,
            "definition": lambda symbol: text.definitions(tools.definition(index, symbol)),
            "uses": lambda symbol: text.uses(tools.uses(index, symbol)),
            "example_for": lambda concept: text.concept_example(tools.example_for(index, concept)),
        }

    @property
    def name(self) -> str:
        return f"CUTLASS {self._index.corpus.version}"

    def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The answer of `tool`; see `mcts.library.Library`."""
        known = {one.name: one for one in TOOLS}
        if tool not in known:
            raise InputError(f"there is no tool {tool[:60]!r}: {', '.join(known)}")
        texts = _checked(known[tool], arguments)
        try:
            with self._lock:
                return self._answers[tool](**texts)
        except SQLITE_ERRORS as error:
            raise WorldError(f"the index {self._index.path} cannot be read: {error}") from None

    def close(self) -> None:
        """Close the index; idempotent."""
        with self._lock:
            self._index.connection.close()

    def _search(self, query: str, kind: str | None = None, path: str | None = None) -> str:
        return text.hits(tools.search(self._index, query, kind=kind, path=path))

    def _read(self, path: str, lines: str | None = None) -> str:
        return text.passage(_truncated(tools.read(self._index, path, lines)))


def _checked(tool: LibraryTool, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The arguments as strings, without empty ones. InputError if they do not fit the schema."""
    properties, required = tool.parameters["properties"], tool.parameters["required"]
    names = ", ".join(properties)
    found = {}
    for name, value in arguments.items():
        if name not in properties:
            raise InputError(f"{tool.name} has no argument {str(name)[:60]!r}, only {names}")
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)  # a line's number
        if value is not None and not isinstance(value, str):
            raise InputError(f"{tool.name}: {name} is a text, not {type(value).__name__}")
        if value is not None and value.strip():
            found[name] = value.encode(errors="replace").decode()  # halves of characters
    missing = next((name for name in required if name not in found), None)
    if missing is not None:
        raise InputError(f"{tool.name} needs {missing}: {properties[missing]['description']}")
    return found


def _truncated(passage: Passage) -> Passage:
    """The passage cut to as many lines as fit into MOST_CHARACTERS, at least one."""
    kept: list[str] = []
    size = 0
    for line in passage.text.split("\n"):
        size += len(line) + 8  # the number in front of it
        if size > MOST_CHARACTERS and kept:
            break
        kept.append(line)
    last = passage.first + len(kept) - 1
    if last >= passage.last:
        return passage
    return replace(passage, last=last, text="\n".join(kept), cut=True)
