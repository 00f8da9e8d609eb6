"""Look-ups in plain text, for models that call no tools: blocks in a reply, answers in a message.

Models write a call in more than one way; whatever names a tool and its arguments is taken. What
cannot be read is kept as a call of its text, so that the model is told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from codegen.chat.messages import ToolCall
from codegen.replies.text import without_thoughts

_TAG = r"(?:^|(?<=</tool_call>))[ \t]*<tool_call>\s*(?P<tagged>[{\[].*?)(?:</tool_call>|\Z)"
"""A tag within a line, or around something else, is talk about tags."""
_BLOCK = re.compile(
    r"^[ \t]*(?P<mark>`{3,}|~{3,})[ \t]*lookup[ \t]*\n"
    r"(?P<text>.*?)(?:^[ \t]*(?P=mark)[`~]*[ \t]*$|\Z)"
    rf"|{_TAG}",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_DECODER = json.JSONDecoder(strict=False)


def calls_in(text: str) -> tuple[ToolCall, ...]:
    """The look-ups that a reply asks for, in their order; none if it asks for none."""
    found: list[ToolCall] = []
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    for block in _BLOCK.finditer(without_thoughts(lines)):
        body = block["text"] if block["text"] is not None else block["tagged"]
        found.extend(_calls(body.strip()))
    return tuple(found)


def _calls(body: str) -> Iterator[ToolCall]:
    """One call per JSON object, one after the other or in a list."""
    at = 0
    while at < len(body):
        try:
            value, at = _DECODER.raw_decode(body, at)
        except (ValueError, RecursionError):
            yield ToolCall(id="", name="", arguments=body[at:])
            return
        for one in value if isinstance(value, list) else [value]:
            yield _call(one)
        while at < len(body) and body[at] in " \t\r\n,;":
            at += 1


def _call(value: Any) -> ToolCall:
    """A call from its object, whose arguments may stand beside the tool's name."""
    if not isinstance(value, dict):
        return ToolCall(id="", name="", arguments=json.dumps(value))
    fields = dict(value)
    name = str(fields.pop("tool", None) or fields.pop("name", None) or "")
    arguments = fields.get("arguments", fields.get("parameters", fields))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id="", name=name, arguments=text)
