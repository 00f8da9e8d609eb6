"""A question to a language model as it is kept: for the cache, and for cassettes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from codegen.chat import Message
from codegen.scrubbing import address, hide


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A question as it is kept: who is asked, where, and what. It holds no secret.

    `models` are the model and its fallbacks in their order, `server` the address without login,
    None for the providers' own. `seed` tells one sample of a question from another; it is not
    sent.
    """

    models: tuple[str, ...]
    server: str | None
    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float
    seed: int | None

    def canonical(self) -> str:
        """One text for one request, whatever order its fields were written in."""
        return json.dumps(
            asdict(self), sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
        )

    @property
    def key(self) -> str:
        """A SHA-256 of the canonical text, in hex."""
        return hashlib.sha256(self.canonical().encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Route:
    """Who is asked: the model, its fallbacks in their order, and the server of one's own."""

    model: str
    fallbacks: tuple[str, ...] = ()
    api_base: str | None = None

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.model, *self.fallbacks)))

    def base_of(self, model: str) -> str | None:
        """The server to ask for `model`: one's own serves the models of its kind alone.

        With ``openai/local`` there, ``openai/other`` is asked there too and ``anthropic/x`` at
        its provider.
        """
        return self.api_base if _kind(model) == _kind(self.model) else None

    def request(
        self, messages: Sequence[Message], *, max_tokens: int, temperature: float, seed: int | None
    ) -> ChatRequest:
        """The question as it is kept, without the secrets that a prompt might have caught."""
        return ChatRequest(
            models=self.models,
            server=None if self.api_base is None else hide(address(self.api_base)),
            messages=tuple(
                Message(role=each["role"], content=hide(each["content"])) for each in messages
            ),
            max_tokens=max_tokens,
            temperature=temperature,
            seed=seed,
        )


def _kind(model: str) -> str:
    return model.partition("/")[0] if "/" in model else ""
