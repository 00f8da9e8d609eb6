"""How look-ups stand in the conversation with a model: the reply that asks, and the answers.

A model without tool calling asks in blocks of plain text. Models write such a call in more than one
way; whatever names a tool and its arguments is taken. What cannot be read is kept as a call of its
text, so that the model is told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from codegen.chat.messages import Message, Reply, ToolCall
from codegen.prompting.untrusted import clean, inline, shortened
from codegen.replies.text import without_thoughts

LONGEST_SAID = 16_000
"""Characters of a reply that asks for look-ups, as the model is shown it again."""
LONGEST_CALL = 2_000
"""Characters of the arguments of a call."""
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


def called(reply: Reply, calls: Sequence[ToolCall], answers: Sequence[str]) -> list[Message]:
    """The exchange by tool calling. What is not JSON is not repeated: services read it."""
    said = Message(role="assistant", content=said_of(reply))
    said["tool_calls"] = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": _name(call.name), "arguments": _repeatable(call.arguments)},
        }
        for call in calls
    ]
    told = [
        Message(role="tool", content=answer, tool_call_id=call.id)
        for call, answer in zip(calls, answers, strict=True)
    ]
    return [said, *told]


def written(
    reply: Reply, calls: Sequence[ToolCall], answers: Sequence[str], *, first: int
) -> list[Message]:
    """The exchange in plain text; `first` is the number of the first look-up."""
    told = [
        f"Look-up {number} ({inline(call.name or 'no tool', longest=40)} "
        f"{inline(asked_for(call.arguments))}):\n\n{answer}"
        for number, (call, answer) in enumerate(zip(calls, answers, strict=True), start=first)
    ]
    return [
        Message(role="assistant", content=said_of(reply)),
        Message(role="user", content="\n\n".join(told)),
    ]


def said_of(reply: Reply) -> str:
    """What the model is shown of its own reply."""
    return shortened(clean(without_thoughts(reply.text)).strip(), longest=LONGEST_SAID)


def _name(name: str) -> str:
    """A name that services take for one, whatever the model made up."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"


def _repeatable(arguments: str) -> str:
    try:
        found = json.loads(arguments) if len(arguments) <= LONGEST_CALL else None
    except (ValueError, RecursionError):
        found = None
    return clean(arguments) if isinstance(found, dict) else "{}"


def asked_for(arguments: str) -> str:
    """The arguments for people: the value of the first, names and values of the others."""
    try:
        found = json.loads(arguments[:LONGEST_CALL]) if arguments else {}
    except (ValueError, RecursionError):
        return arguments
    if not isinstance(found, dict):
        return arguments
    return ", ".join(
        f"{name} {value}" if at else str(value) for at, (name, value) in enumerate(found.items())
    )


def cut_to(text: str, most: int) -> str:
    """As many whole lines as `most` characters hold."""
    if len(text) <= most:
        return text
    end = text.rfind("\n", 0, most)
    kept = text[: end if end > 0 else most]
    return f"{kept}\n... cut here, {len(text) - len(kept)} characters are left out: ask for less"


def in_short(answer: str) -> str:
    """The first line of an answer, and how many follow."""
    lines = [line for line in answer.split("\n") if line.strip() and not line.startswith("```")]
    first = inline(lines[0], longest=160) if lines else "nothing"
    if len(lines) < 2:
        return first
    return f"{first} (and {len(lines) - 1} more line{'s' if len(lines) > 2 else ''})"
