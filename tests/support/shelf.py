"""A library of a few texts, where the look-ups and not CUTLASS are the point of a test."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from mcts.errors import InputError
from mcts.library import LibraryTool

Answer = str | Exception | Callable[[str], str]


def _tool(name: str, argument: str) -> LibraryTool:
    schema = {
        "type": "object",
        "properties": {argument: {"type": "string", "description": f"What to {name}."}},
        "required": [argument],
    }
    return LibraryTool(name=name, says=f"To {name}.", parameters=schema)


class Shelf:
    """Answers by the one argument of a call; errors are raised."""

    name = "Shelf 1.0"
    tools = (_tool("search", "query"), _tool("read", "path"))

    def __init__(self, **books: Answer) -> None:
        self.books: dict[str, Answer] = dict(books)
        self.called: list[tuple[str, dict[str, Any]]] = []
        self.closed = 0

    def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        self.called.append((tool, dict(arguments)))
        if tool not in ("search", "read"):
            raise InputError(f"there is no tool {tool!r}: search, read")
        asked = str(next(iter(arguments.values()), ""))
        found = self.books.get(asked, f"{asked}.hpp:1  int {asked};")
        if isinstance(found, Exception):
            raise found
        return found(asked) if callable(found) else found

    def close(self) -> None:
        self.closed += 1


def calls(*each: tuple[str, Mapping[str, Any] | str]) -> tuple[tuple[str, str], ...]:
    """Calls of tools for a `Say`; arguments that are a text go out as they are."""
    return tuple(
        (name, arguments if isinstance(arguments, str) else json.dumps(dict(arguments)))
        for name, arguments in each
    )


def blocks(*each: tuple[str, Mapping[str, Any] | str]) -> str:
    """The same in plain text."""
    texts = [
        arguments
        if isinstance(arguments, str)
        else json.dumps({"tool": name, "arguments": dict(arguments)})
        for name, arguments in each
    ]
    return "\n\n".join(f"```lookup\n{text}\n```" for text in texts)
