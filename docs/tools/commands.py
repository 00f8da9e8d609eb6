"""The command reference in Markdown, from the program itself: `python -m docs.tools.commands`.

typer brings a click of its own, which generators for click do not know. What is asked of it here
is what its help pages are made of.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from typer.main import get_command

from experiments.cli import app


@dataclass(frozen=True, slots=True)
class Command:
    """A command, or a group of some, with the words that call it."""

    words: str
    parsed: Any
    context: Any

    @property
    def title(self) -> str:
        return self.words.partition(" ")[2] or "rooftree"


def reference() -> str:
    """A section for each command, those of a group behind it."""
    return "\n\n".join(_section(command) for command in commands())


def commands() -> Iterator[Command]:
    """Every command that help shows, in its order."""
    program = get_command(app)
    yield from _walk("rooftree", program, program.context_class(program, info_name="rooftree"))


def _walk(words: str, parsed: Any, context: Any) -> Iterator[Command]:
    yield Command(words, parsed, context)
    for name, below in getattr(parsed, "commands", {}).items():
        if not below.hidden:
            inner = below.context_class(below, info_name=name, parent=context)
            yield from _walk(f"{words} {name}", below, inner)


def _section(command: Command) -> str:
    depth = "#" * max(2, len(command.words.split()))
    usage = re.sub(r"[{}]", "", command.parsed.get_usage(command.context)).split()[1:]
    parts = [
        f"{depth} {command.title}",
        " ".join(inspect.cleandoc(command.parsed.help or "").split()),
        f"```text\n{' '.join(usage)}\n```",
        _table(command, "argument"),
        _table(command, "option"),
    ]
    return "\n\n".join(part for part in parts if part)


def _table(command: Command, kind: str) -> str:
    """The parameters of a kind as help lists them; empty where there are none but --help."""
    params = command.parsed.get_params(command.context)
    records = [p.get_help_record(command.context) for p in params if p.param_type_name == kind]
    rows = [record for record in records if record and "--help" not in record[0]]
    if not rows:
        return ""
    lines = [f"| {kind} | what it is |", "| --- | --- |"]
    lines += [f"| {_cell(_names(names))} | {_cell(_words(text))} |" for names, text in rows]
    return "\n".join(lines)


def _names(record: str) -> str:
    """`-o, --out <path>` as code, the kind of value in capitals as in `--max-cost USD`."""
    kinds = {"str": "TEXT", "int": "N", "int range": "N", "float": "X", "float range": "X"}

    def kind(match: re.Match[str]) -> str:
        name = match[1].removeprefix("list[").removesuffix("]")
        return kinds.get(name, name.upper())

    text = re.sub(r"<([^>]+)>", kind, record)
    return f"`{text if text.startswith('-') else text.split()[0]}`"


def _words(text: str) -> str:
    """The help, with what stands in brackets at its end (default, bounds) in parentheses."""
    text = " ".join(text.split()).removesuffix(" [required]")
    head, _, notes = text.rpartition(" [")
    if not head or not notes.endswith("]"):
        return text
    notes = re.sub(r"\bx>=(\S+?)(?=[;\]])", r"from \1", notes)
    notes = re.sub(r"([\d.]+)<=x<=([\d.]+)", r"\1 to \2", notes)
    return f"{head} ({notes.removesuffix(']')})"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    print(reference())
