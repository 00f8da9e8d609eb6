"""What is sent to a model."""

from __future__ import annotations

from dataclasses import dataclass, field

from codegen.chat.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Messages, the template they were made from, and what had to be left out, by kind."""

    messages: list[Message]
    id: str
    dropped: dict[str, int] = field(default_factory=dict)
    tokens: int = 0
