"""The built-in tools as tables, for the guide: `python -m docs.tools.microtools`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import get_args

from mcts.domain import BoundClass, Level
from mcts.microtool.tool import ANY, RUNNING, Tool
from microtools.registry import builtin

HEADER = "| tool | classes | says | left to |\n| --- | --- | --- | --- |"
_READS: dict[Level, str] = {
    "kernel": "Kernel level: hardware counters",
    "instruction": "Instruction level: machine code",
    "system": "System level: the timeline",
}


def markdown() -> str:
    """A table per level, in the order of the names."""
    return "\n\n".join(_table(level) for level in _READS)


def summary(tool: Tool) -> str:
    """What a built-in tool says: the first line of its file."""
    text = import_module(f"microtools.{tool.level}.{tool.name}").__doc__ or ""
    return text.partition("\n")[0].rstrip(".")


def _table(level: Level) -> str:
    tools = sorted((tool for tool in builtin() if tool.level == level), key=lambda tool: tool.name)
    return "\n".join([f"### {_READS[level]}", "", HEADER, *_rows(tools)])


def _rows(tools: list[Tool]) -> Iterator[str]:
    for tool in tools:
        causes = ", ".join(sorted(tool.symptom_of)) or "-"
        yield f"| `{tool.name}` | {_classes(tool)} | {summary(tool)} | {causes} |"


def _classes(tool: Tool) -> str:
    if tool.affinity >= ANY:
        return "any"
    if tool.affinity >= RUNNING:
        return "any but launch"
    return ", ".join(name for name in get_args(BoundClass) if name in tool.affinity)


if __name__ == "__main__":
    print(markdown())
