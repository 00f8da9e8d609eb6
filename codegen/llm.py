"""The proposer with a language model behind it: one prompt, one reply, one candidate."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from codegen.chat import ChatClient, Message, Reply
from codegen.prompting import source_messages, values_messages
from codegen.replies import parse_reply, parse_values
from mcts.domain import Candidate, Hardware, TunableSpace, parse_launch_plan
from mcts.errors import InputError, NoMoves, ProposalRejected
from mcts.ports import Proposal, ProposalRequest

PRIOR = 0.5
"""A model's own confidence is not calibrated, so every proposal of it starts alike."""


class LlmProposer:
    """Asks `model` (any name litellm knows, or `openai/NAME` with `api_base`) for the next variant.

    With `tunables_only` the model chooses values for the tunables and the source stays: that is
    all a replay can judge. `timeout_s` bounds one attempt, `retries` the further ones. `client`
    replaces litellm. Thread-safe.
    """

    inline = False

    def __init__(
        self,
        model: str,
        *,
        api_base: str | None = None,
        temperature: float = 0.7,
        max_tokens: int = 16_000,
        timeout_s: float = 300.0,
        retries: int = 2,
        tunables_only: bool = False,
        hardware: Hardware | None = None,
        client: ChatClient | None = None,
    ) -> None:
        if client is None:
            from codegen.litellm_client import LitellmClient

            client = LitellmClient(model, api_base=api_base, timeout_s=timeout_s, retries=retries)
        self.model = model
        self._client, self._hardware = client, hardware
        self._temperature, self._max_tokens = temperature, max_tokens
        self._tunables_only = tunables_only

    @property
    def name(self) -> str:
        return f"llm:{self.model}"

    def propose(self, request: ProposalRequest) -> Proposal:
        """Ask once and read the reply.

        Raises ProposalRejected for a reply that is no usable candidate, WorldError when none
        could be had, InputError where a key or a name must be mended first.
        """
        if self._tunables_only or request.task.dialect == "space":
            return self._propose_values(request)
        if request.task.dialect != "cuda":
            raise InputError(
                f"the llm proposer writes the dialects cuda and space, not {request.task.dialect}"
            )
        return self._ask(
            source_messages(request, self._hardware), partial(parse_reply, request=request)
        )

    def _propose_values(self, request: ProposalRequest) -> Proposal:
        space = _space_of(request)
        if space.size <= 1:
            raise NoMoves("the kernel declares no tunables to choose values for")
        read = partial(parse_values, request=request, space=space)
        return self._ask(values_messages(request, self._hardware, space), read)

    def _ask(self, messages: list[Message], read: Callable[..., Candidate]) -> Proposal:
        """One call, paid for whether `read` finds a candidate in the reply or not."""
        begin = time.perf_counter()
        reply = self._client.complete(
            messages, max_tokens=self._max_tokens, temperature=self._temperature
        )
        usage = _usage(reply, time.perf_counter() - begin)
        try:
            candidate = read(reply.text, finish_reason=reply.finish_reason)
        except ProposalRejected as error:
            raise ProposalRejected(str(error), usage=usage) from None
        return Proposal(candidate=candidate, prior=PRIOR, usage=usage)


def _space_of(request: ProposalRequest) -> TunableSpace:
    if request.task.dialect == "cuda":
        return parse_launch_plan(request.parent.source).space
    return request.task.space


def _usage(reply: Reply, seconds: float) -> dict[str, Any]:
    """What a reply cost; tokens and cost_usd are None where the service did not say."""
    return {
        "model": reply.model,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "cost_usd": reply.cost_usd,
        "seconds": round(seconds, 3),
    }
