"""What the system prompt says of looking things up in a library."""

from __future__ import annotations

import json
from collections.abc import Sequence
from string import Template

from codegen.prompting.contract import template
from codegen.prompting.untrusted import inline
from mcts.library import Library, LibraryTool

VERSION = 1
"""Raised whenever these words change, as `roles.VERSIONS` are."""


def lookup_section(library: Library, *, calls: int, tokens: int, plain: bool) -> str:
    """How many look-ups there are and what for; where `plain`, also how they are written in plain
    text, because no service tells the model of the tools.
    """
    text = Template(template("lookups.md")).substitute(
        library=inline(library.name, longest=80), calls=calls, tokens=tokens
    )
    if not plain:
        return text
    form = Template(template("lookups_text.md")).substitute(
        tool=library.tools[0].name,
        example=_example(library.tools[0]),
        tools=_described(library.tools),
    )
    return f"{text}\n\n{form}"


def _described(tools: Sequence[LibraryTool]) -> str:
    """A line per tool, and one per argument below it."""
    lines = []
    for tool in tools:
        lines.append(f"- `{tool.name}`: {tool.says}")
        required = tool.parameters.get("required", ())
        for name, about in tool.parameters.get("properties", {}).items():
            optional = "" if name in required else " (optional)"
            lines.append(f"  - `{name}`{optional}: {about.get('description', '')}".rstrip(": "))
    return "\n".join(lines)


def _example(tool: LibraryTool) -> str:
    """The arguments of a call, as the inside of a JSON object."""
    name = next(iter(tool.parameters.get("properties", {})), "query")
    return f'{json.dumps(name)}: "..."'
