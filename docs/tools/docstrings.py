"""How docstrings and fields are shown: a griffe extension for mkdocstrings.

Docstrings that explain constants line by line, as `name: what it is`, become lists. The fields of a
noun stand together under its docstring, as they do in the code, and those of a dataclass in its
signature alone, instead of a heading for each.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_ENTRY = re.compile(r"(?P<names>[a-z_]\w*(?:, [a-z_]\w*)*): (?P<text>.+)")
_NOUN = re.compile(r"\b(Noun|Latency)$")


class Fields(griffe.Extension):
    """Rewrites docstrings, and takes fields that need no heading out of the public members."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = listed(obj.docstring.value)

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        fields = [
            member
            for name, member in cls.members.items()
            if isinstance(member, griffe.Attribute)
            and not name.startswith("_")
            and member.annotation is not None
            and not member.docstring
        ]
        noun = any(_NOUN.search(str(base)) for base in cls.bases)
        if noun and fields:
            block = "\n".join(map(_declared, fields))
            said = f"{cls.docstring.value}\n\n" if cls.docstring else ""
            cls.docstring = griffe.Docstring(
                f"{said}```python\n{block}\n```", parent=cls, lineno=cls.lineno
            )
        if "__post_init__" in cls.members:
            cls.members["__post_init__"].public = False
        dataclass = any("dataclass" in str(mark.value) for mark in cls.decorators)
        if noun or dataclass:
            for member in fields:
                if "property" not in member.labels:
                    member.public = False


def _declared(field: griffe.Attribute) -> str:
    value = "" if field.value is None else f" = {field.value}"
    return f"{field.name}: {field.annotation}{value}"


def listed(text: str) -> str:
    """Paragraphs that begin with `name: ` as Markdown lists; all else as it is."""
    return "\n\n".join(map(_paragraph, text.split("\n\n")))


def _paragraph(text: str) -> str:
    if not _ENTRY.match(text):
        return text
    lines = []
    for line in text.splitlines():
        entry = _ENTRY.fullmatch(line)
        if entry:
            names = ", ".join(f"`{name}`" for name in entry["names"].split(", "))
            lines.append(f"- {names}: {entry['text']}")
        else:
            lines.append("    " + line.strip())
    return "\n".join(lines)
