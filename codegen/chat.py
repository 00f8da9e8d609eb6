"""The port to a language model: messages in, one reply out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypedDict


class Message(TypedDict):
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer. Tokens and cost are None where the service did not say; never estimated.

    `finish_reason` is the service's own: "stop", "length" for a reply that was cut off,
    "content_filter" for one that was withheld.
    """

    text: str
    model: str
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


class ChatClient(Protocol):
    """Asks a model. Thread-safe: several trials ask at once."""

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, temperature: float
    ) -> Reply:
        """Return the model's reply.

        Raises WorldError when no answer could be had, InputError when the user must mend
        something first (a key, the model's name), ProposalRejected when the service refuses this
        very prompt.
        """
        ...
