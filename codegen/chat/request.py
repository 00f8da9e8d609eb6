"""A request to a language model as the cache and cassettes store it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from codegen.chat.messages import Message, Offer
from codegen.chat.scrubbing import address, hide


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """A request as it is stored: which models, at which server, what. It holds no secret.

    `models` are the model and its fallbacks in their order, `server` the address without login,
    None for the providers' own. `seed` tells one sample of a question from another; it is not
    sent. `offer` are the tools that may be called; `probabilities`: the reply says how probable it
    was, so that an answer that does not is none to this question.
    """

    models: tuple[str, ...]
    server: str | None
    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float
    seed: int | None
    offer: Offer | None = None
    probabilities: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Its fields for JSON; of the last two what is asked for."""
        found: dict[str, Any] = {
            "models": self.models,
            "server": self.server,
            "messages": self.messages,
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
        }
        if self.offer is not None:
            found["offer"] = asdict(self.offer)
        if self.probabilities:
            found["probabilities"] = True
        return found

    @cached_property
    def canonical(self) -> str:
        """One text for one request, whatever order its fields were written in."""
        return json.dumps(
            self.as_dict(),
            sort_keys=True,
            ensure_ascii=False,
            separators=(",", ":"),
            allow_nan=False,
        )

    @cached_property
    def key(self) -> str:
        """A SHA-256 of the canonical text, in hex."""
        return hashlib.sha256(self.canonical.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Route:
    """The model, its fallbacks in their order, the address of a server of one's own, and whether
    replies say how probable they were.
    """

    model: str
    fallbacks: tuple[str, ...] = ()
    api_base: str | None = None
    probabilities: bool = False

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.model, *self.fallbacks)))

    def base_of(self, model: str) -> str | None:
        """The server to ask for `model`: `api_base` serves only models of one provider's prefix.

        With ``openai/local`` there, ``openai/other`` is asked there too and ``anthropic/x`` at
        its provider.
        """
        return self.api_base if _provider(model) == _provider(self.model) else None

    def request(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        seed: int | None,
        offer: Offer | None = None,
    ) -> ChatRequest:
        """The request as it is stored, without secrets that got into the prompt."""
        return ChatRequest(
            models=self.models,
            server=None if self.api_base is None else hide(address(self.api_base)),
            messages=tuple(map(without_secrets, messages)),
            max_tokens=max_tokens,
            temperature=temperature,
            seed=seed,
            offer=offer,
            probabilities=self.probabilities,
        )


def without_secrets(message: Message) -> Message:
    """The message as it may be sent and kept."""
    found = Message(role=message["role"], content=hide(message["content"]))
    if (calls := message.get("tool_calls")) is not None:
        found["tool_calls"] = [_hidden(call) for call in calls]
    if (id := message.get("tool_call_id")) is not None:
        found["tool_call_id"] = id
    return found


def _hidden(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    return {**call, "function": {**function, "arguments": hide(function["arguments"])}}


def _provider(model: str) -> str:
    return model.partition("/")[0] if "/" in model else ""
