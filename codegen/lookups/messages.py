"""How look-ups stand in the conversation with a model: its reply that asked, and the answers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from codegen.chat.messages import Message, Reply, ToolCall
from codegen.prompting.untrusted import clean, inline, shortened
from codegen.replies.text import without_thoughts

LONGEST_SAID = 16_000
"""Characters of a reply that asks for look-ups, as the model is shown it again."""
LONGEST_CALL = 2_000
"""Characters of the arguments of a call."""


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
