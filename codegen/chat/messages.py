"""The port to a language model: messages in, one reply out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NotRequired, Protocol, TypedDict

from pydantic import TypeAdapter

from mcts.journal.spending import told_cost, told_count
from mcts.library import LibraryTool

LONGEST_REPLY = 1_000_000
"""Characters of a reply that is read; of a longer one the head alone is kept, as `TOO_LONG`."""
HEAD = 16_000
"""Characters kept of a reply or of a call's arguments that are too long to be used."""
TOO_LONG = "too_long"
_COUNTS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_prompt_tokens")


class Message(TypedDict):
    """A message as OpenAI's chat completions have it. `tool_calls` are what an assistant called,
    `tool_call_id` says which of them a tool answers.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: NotRequired[list[dict[str, Any]]]
    tool_call_id: NotRequired[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call as the model wrote it: `arguments` is meant to be JSON. `id` is the service's,
    empty if it gave none.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The tools a model may call; if it is not `open`, they are named but none may be called."""

    tools: tuple[LibraryTool, ...]
    open: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer, and what this run pays for it.

    Tokens and cost are None if the service did not say; never estimated. `completion_tokens`
    count `reasoning_tokens` too, and `prompt_tokens` count `cached_prompt_tokens`, those which the
    service still knew from an earlier prompt. `cost_usd` has at most nine decimals, so that
    `Decimal(str(cost_usd))` is exact and sums are exact to the cent.

    `asked` is the model as the user named it, `model` what the service calls it. `finish_reason`
    is the service's own: "stop", "length" for a reply that was cut off, "content_filter" for one
    that was withheld; or `TOO_LONG`. `tool_calls` are the tools it wants called. `attempts` counts
    the requests sent for it, failed ones included, and `faults` says of each that failed why, in a
    line without secrets.

    `logprob` is the natural logarithm of the probability that the model gave the text, where the
    client knows it.

    A reply that was paid for before is `cached`: its cost and tokens are 0, and
    `original_cost_usd` says what it cost when it was bought.
    """

    text: str
    model: str
    asked: str = ""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_prompt_tokens: int | None = None
    cost_usd: float | None = None
    attempts: int = 1
    faults: tuple[str, ...] = ()
    cached: bool = False
    original_cost_usd: float | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    logprob: float | None = None

    def __post_init__(self) -> None:
        for name in _COUNTS:
            object.__setattr__(self, name, told_count(getattr(self, name)))
        for name in ("cost_usd", "original_cost_usd"):
            object.__setattr__(self, name, told_cost(getattr(self, name)))
        # JSON knows lists and objects alone
        object.__setattr__(self, "faults", tuple(self.faults))
        calls = (ToolCall(**call) if isinstance(call, dict) else call for call in self.tool_calls)
        object.__setattr__(self, "tool_calls", tuple(calls))

    def as_dict(self) -> dict[str, Any]:
        """Its fields for JSON; calls and probability only if there are some."""
        found = asdict(self)
        if not self.tool_calls:
            del found["tool_calls"]
        if self.logprob is None:
            del found["logprob"]
        return found

    def from_before(self) -> Reply:
        """The same answer as one that costs nothing, because it was paid for before."""
        if self.cached:
            return self
        counted = self.prompt_tokens is not None or self.completion_tokens is not None
        none_more = 0 if counted else None
        return replace(
            self,
            prompt_tokens=none_more,
            completion_tokens=none_more,
            reasoning_tokens=None,
            cached_prompt_tokens=None,
            cost_usd=0.0,
            attempts=0,
            faults=(),
            cached=True,
            original_cost_usd=self.cost_usd,
        )

    def usage(self) -> dict[str, Any]:
        """What the reply cost, JSON-safe, for a `Proposal`; details that say nothing left out."""
        told: dict[str, Any] = {
            "model": self.model,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cost_usd": self.cost_usd,
        }
        details: dict[str, Any] = {
            "asked": self.asked if self.asked.rpartition("/")[2] != self.model else None,
            "reasoning_tokens": self.reasoning_tokens,
            "cached_prompt_tokens": self.cached_prompt_tokens,
            "attempts": self.attempts if self.attempts > 1 else None,
            "faults": list(self.faults),
            "cached": self.cached or None,
            "original_cost_usd": self.original_cost_usd,
        }
        return told | {name: value for name, value in details.items() if value}


def head_of(text: str, most: int = HEAD) -> str:
    """What is kept of a text that is too long to keep: how it begins, its length and its hash."""
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()
    return f"{text[:most]}\n[cut here: {len(text)} characters in all, SHA-256 {digest}]"


def reply_from(fields: object) -> Reply:
    """What `Reply.as_dict` gave. ValueError for anything else."""
    return _REPLY.validate_python(fields)


_REPLY = TypeAdapter(Reply)


class ChatClient(Protocol):
    """Asks a model. Thread-safe: several trials ask at once."""

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        seed: int | None = None,
        offer: Offer | None = None,
    ) -> Reply:
        """Return the model's reply; `offer` holds the tools that it may call instead.

        `seed` tells a further sample of the same question from the first: a client that keeps
        answers gives the same one for the same seed alone.

        Raises WorldError when no answer could be had, InputError when the user must mend
        something first (a key, the model's name), ProposalRejected when the service refuses this
        very prompt.
        """
        ...

    def close(self) -> None:
        """Give up what is in flight, as WorldErrors in the threads that wait; idempotent."""
        ...
