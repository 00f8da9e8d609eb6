"""litellm behind the `ChatClient` port: any model it knows, or a local OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from codegen.chat.background import ClientTasks
from codegen.chat.litellm_errors import request_error
from codegen.chat.messages import (
    HEAD,
    LONGEST_REPLY,
    TOO_LONG,
    Message,
    Offer,
    Reply,
    ToolCall,
    head_of,
)
from codegen.chat.models import has_price, load_litellm
from codegen.chat.prices import Price, names_of, nine_decimals
from codegen.chat.request import Route, without_secrets
from codegen.chat.retries import RequestError, Retries
from codegen.chat.scrubbing import address, hide, scrub
from mcts.journal.spending import told_cost, told_count

__all__ = ["LitellmClient", "scrub"]

_LONGEST_NAME = 200
_MOST_CALLS = 1000
"""Look-ups of one reply that are counted; no run answers so many in all."""


class LitellmClient:
    """Retries `model`, and `fallbacks` in their order if it gives no answer. Keys come from the
    environment alone, under the providers' names; a server at `api_base` that wants no key gets a
    dummy one.

    All requests run on one event loop; `complete` waits in the calling thread, any number at once.
    `timeout_s` bounds one attempt, to the last byte of its answer. Timeouts, rate limits, broken
    connections, cut or garbled answers and 5xx are asked again `retries` times with growing pauses
    (or the pause the service asks for). `prices` take precedence over litellm's.
    """

    def __init__(
        self,
        model: str,
        *,
        fallbacks: Sequence[str] = (),
        api_base: str | None = None,
        timeout_s: float = 300.0,
        retries: int = 2,
        prices: Mapping[str, Price] | None = None,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        self.route = Route(model, tuple(fallbacks), api_base)
        self._timeout_s = timeout_s
        self._prices = {
            model: prices[name]
            for model in self.route.models
            for name in reversed(names_of(model))
            if prices and name in prices
        }
        self._tasks = ClientTasks()
        self._calls = Retries(self.route.models, retries=retries, sleep=sleep or self._tasks.sleep)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        seed: int | None = None,
        offer: Offer | None = None,
    ) -> Reply:
        litellm = load_litellm()
        question: dict[str, Any] = {
            "messages": list(map(without_secrets, messages)),
            "max_tokens": max_tokens,
            "temperature": temperature,
        }
        if offer is not None:
            question |= _tools(offer)
        return self._calls.ask(
            lambda model: self._tasks.run(self._send(litellm, model, question)), who=self._who
        )

    def close(self) -> None:
        self._tasks.close()

    def calls_tools(self) -> bool:
        """Whether litellm says of every model that it can call tools. It cannot say so of a server
        of one's own.
        """
        litellm = load_litellm()
        return all(
            self.route.base_of(model) is None and litellm.supports_function_calling(model=model)
            for model in self.route.models
        )

    def unpriced(self) -> list[str]:
        """The models of unknown price: neither the user nor litellm has one."""
        litellm = load_litellm()
        return [
            model
            for model in self.route.models
            if model not in self._prices
            and (self.route.base_of(model) is not None or not has_price(litellm, model))
        ]

    async def _send(self, litellm: Any, model: str, question: Mapping[str, Any]) -> Reply:
        """Send one request. Raises RequestError if no whole reply came in time.

        litellm's own limit holds for each read, so that a server which trickles would never reach
        it; ours holds for all of them.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await litellm.acompletion(**self._arguments(model), **question)
        except TimeoutError:
            raise RequestError(
                "transient", f"no whole answer within {self._timeout_s:g} s"
            ) from None
        except litellm.exceptions.openai.OpenAIError as error:  # the root of all it raises
            has_server = self.route.base_of(model) is not None
            raise request_error(litellm, error, model=model, has_server=has_server) from None
        return self._reply(response, model)

    def _arguments(self, model: str) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": model,
            "timeout": self._timeout_s,
            "num_retries": 0,
            "max_retries": 0,  # ours are the only retries, so that their number is what was asked
            "drop_params": True,  # some models refuse a temperature
        }
        if (base := self.route.base_of(model)) is not None:
            arguments["api_base"] = base
            if not os.environ.get("OPENAI_API_KEY") and model.startswith("openai/"):
                arguments["api_key"] = "none"
        return arguments

    def _reply(self, response: Any, model: str) -> Reply:
        """Read a response. One without choices is asked again: some gateways answer so when the
        service behind them failed.
        """
        choices = getattr(response, "choices", None)
        if not choices:
            raise RequestError("transient", "an answer without a choice")
        usage = getattr(response, "usage", None)
        prompt, completion = _counts(usage)
        text, reason = choices[0].message.content or "", choices[0].finish_reason
        if len(text) > LONGEST_REPLY:
            text, reason = head_of(text), TOO_LONG
        return Reply(
            text=_readable(text),
            tool_calls=_calls(choices[0].message),
            model=_readable(str(getattr(response, "model", None) or model)[:_LONGEST_NAME]),
            asked=model,
            finish_reason=reason,
            prompt_tokens=prompt,
            completion_tokens=completion,
            reasoning_tokens=_count(
                getattr(usage, "completion_tokens_details", None), "reasoning_tokens"
            ),
            cached_prompt_tokens=_count(
                getattr(usage, "prompt_tokens_details", None), "cached_tokens"
            ),
            cost_usd=self._cost_usd(response, model, prompt, completion),
        )

    def _cost_usd(
        self, response: Any, model: str, prompt: int | None, completion: int | None
    ) -> float | None:
        """The cost by the user's price, else by litellm's. Returns None for a model that has
        neither, for tokens that the service did not count, and for a server of one's own for which
        the user gave no price, whatever the name of its model.
        """
        price = self._prices.get(model)
        if prompt is None or completion is None:
            return None
        if price is not None:
            return price.cost_usd(prompt, completion)
        if self.route.base_of(model) is not None:
            return None
        cost = told_cost(getattr(response, "_hidden_params", {}).get("response_cost"))
        return nine_decimals(cost) if cost is not None else None

    def _who(self, model: str) -> str:
        base = self.route.base_of(model)
        return model + (f" at {address(base)}" if base else "")


def _tools(offer: Offer) -> dict[str, Any]:
    """The tools as chat completions have them. They stay listed when none may be called any more:
    some services want to know the tools that earlier messages called.
    """
    tools = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.says,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in offer.tools
    ]
    return {
        "tools": tools,
        "tool_choice": "auto" if offer.open else "none",
        "_skip_mcp_handler": True,  # it imports a package that litellm does not bring
    }


def _calls(message: Any) -> tuple[ToolCall, ...]:
    """What the model wants called; the id is empty if the service gave none."""
    found = []
    left = LONGEST_REPLY
    for call in (getattr(message, "tool_calls", None) or ())[:_MOST_CALLS]:
        function = getattr(call, "function", None)
        arguments = getattr(function, "arguments", None) or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments)
        if len(arguments) > min(HEAD, left):
            arguments = head_of(arguments, min(HEAD, left))
        left = max(0, left - len(arguments))
        found.append(
            ToolCall(
                id=str(getattr(call, "id", None) or "")[:_LONGEST_NAME],
                name=_readable(str(getattr(function, "name", None) or "")[:_LONGEST_NAME]),
                arguments=_readable(arguments),
            )
        )
    return tuple(found)


def _readable(text: str) -> str:
    """What a model said, without secrets and without halves of characters, which no file holds."""
    return hide(text.encode(errors="replace").decode())


def _counts(usage: Any) -> tuple[int | None, int | None]:
    """Tokens of prompt and completion, None each if the service did not count them, or counted what
    cannot be. litellm writes zeros where it did not.
    """
    prompt = _count(usage, "prompt_tokens")
    if prompt is None:
        return None, None
    told = getattr(usage, "completion_tokens", None)
    return prompt, 0 if told is None else told_count(told)


def _count(usage: Any, name: str) -> int | None:
    """A count of tokens; None if there is none, or none that says anything."""
    return told_count(getattr(usage, name, None)) or None
