"""A language model played from a script, where HTTP is not the point of a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from codegen.chat.messages import Message, Offer, Reply
from mcts.errors import RooftreeError


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as the client got it."""

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float
    seed: int | None
    offer: Offer | None = None


Step = str | Reply | RooftreeError | Callable[[Asked], "str | Reply"]


class ScriptedClient:
    """Plays `script`, one step a call; the last repeats. A text costs a cent and 100 + 10 tokens.

    A step may be a text, a whole Reply, an error to raise, or a function of the question.
    """

    def __init__(self, script: Sequence[Step]) -> None:
        self.asked: list[Asked] = []
        self.closed = False
        self._script, self._lock = list(script), threading.Lock()

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        seed: int | None = None,
        offer: Offer | None = None,
    ) -> Reply:
        asked = Asked(tuple(messages), max_tokens, temperature, seed, offer)
        with self._lock:
            step = self._script[min(len(self.asked), len(self._script) - 1)]
            self.asked.append(asked)
        if isinstance(step, RooftreeError):
            raise step
        answer = step if isinstance(step, str | Reply) else step(asked)
        return answer if isinstance(answer, Reply) else replace(PLAIN, text=answer)

    def close(self) -> None:
        self.closed = True


PLAIN = Reply(
    text="",
    model="scripted",
    asked="openai/scripted",
    finish_reason="stop",
    prompt_tokens=100,
    completion_tokens=10,
    cost_usd=0.01,
)
