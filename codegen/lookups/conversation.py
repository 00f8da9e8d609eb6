"""What a model looks up in a library while it prepares one proposal, within a budget.

A reply may ask for look-ups instead of bringing a variant; it is answered and the model asked
again, until it writes or its budget is used up. What is wrong with a look-up is told to the model;
it never ends a proposal.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from codegen.chat.messages import Message, Offer, Reply, ToolCall
from codegen.lookups.messages import (
    LONGEST_CALL,
    asked_for,
    called,
    calls_in,
    cut_to,
    in_short,
    said_of,
    written,
)
from codegen.lookups.prompt import lookup_section
from codegen.prompting.budget import CHARACTERS_PER_TOKEN, estimate_tokens
from codegen.prompting.untrusted import clean, fence, inline
from mcts.errors import InputError
from mcts.library import Library
from mcts.options import ModelOptions

LONGEST_ANSWER = 16_000
"""Characters of one answer, whatever a library brings."""
MOST_AT_ONCE = 16
"""Look-ups of one reply that are looked at; further ones are counted and refused together."""
LEAST_TOKENS = 200
"""With fewer tokens left nothing useful can be brought."""
NONE_LEFT = "no look-ups are left for this step: reply with your variant now"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupRecord:
    """One look-up for the journal: which tool, what was `asked`, what came back in short (`found`),
    or why it was `refused`; the bytes of the answer as the model got it, and the seconds it took.
    """

    tool: str
    asked: str
    found: str
    bytes: int
    seconds: float
    refused: bool = False

    def as_dict(self) -> dict[str, Any]:
        """JSON-safe; `refused` only if it was."""
        told: dict[str, Any] = {"tool": self.tool, "asked": self.asked, "found": self.found}
        told |= {"bytes": self.bytes, "seconds": self.seconds}
        return told | ({"refused": True} if self.refused else {})


class Lookups:
    """The look-ups of one proposal, and what is left of its budget. Not thread-safe."""

    def __init__(self, library: Library, options: ModelOptions) -> None:
        self._library, self._options = library, options
        self._tools = tuple(library.tools)
        self._asked: dict[tuple[str, str], int] = {}
        self._ids: set[str] = set()
        self._calls, self._tokens = options.lookups, options.lookup_tokens
        self.done: list[LookupRecord] = []

    @property
    def _plain(self) -> bool:
        """Whether look-ups are written in plain text, which every model can, and not called."""
        return self._options.lookup_protocol != "calls"

    @property
    def open(self) -> bool:
        """Whether something may be looked up still."""
        return self._calls > 0 and self._tokens >= LEAST_TOKENS

    @property
    def offer(self) -> Offer | None:
        """The tools for the service; None if look-ups are made in plain text."""
        if self._plain:
            return None
        return Offer(tools=self._tools, open=self.open)

    @property
    def words(self) -> str:
        """What the prompt says of them."""
        return lookup_section(
            self._library,
            calls=self._options.lookups,
            tokens=self._options.lookup_tokens,
            plain=self._plain,
        )

    def wanted(self, reply: Reply) -> tuple[ToolCall, ...]:
        """The look-ups that a reply asks for."""
        return reply.tool_calls or calls_in(reply.text)

    def answer(self, reply: Reply) -> list[Message]:
        """What the conversation goes on with: the reply that asks for look-ups, and the answers."""
        calls = self.wanted(reply)
        most = min(self._calls, MOST_AT_ONCE)
        taken = [self._named(call) for call in calls[:most]]
        first = len(self.done) + 1
        asking = [call.arguments[:LONGEST_CALL] for call in taken] if reply.tool_calls else []
        self._tokens -= sum(map(estimate_tokens, [said_of(reply), *asking]))
        answers = [self._look_up(call) for call in taken]
        if len(calls) > len(taken):
            answers[-1] += "\n\n" + self._too_many(len(calls) - len(taken), most)
        answers[-1] += f"\n\n{self._left()}"
        if reply.tool_calls:
            return called(reply, taken, answers)
        return written(reply, taken, answers, first=first)

    def usage(self) -> dict[str, Any]:
        """For the journal; empty if nothing was looked up."""
        if not self.done:
            return {}
        return {"library": self._library.name, "lookups": [one.as_dict() for one in self.done]}

    def _named(self, call: ToolCall) -> ToolCall:
        """The call under an id that no other of the conversation has, which services insist on."""
        id, number = call.id, len(self._ids)
        while not id or id in self._ids:
            number += 1
            id = f"call{number:05d}"
        self._ids.add(id)
        return replace(call, id=id)

    def _look_up(self, call: ToolCall) -> str:
        """The answer to one call, as the model reads it."""
        begin = time.perf_counter()
        refused = False
        try:
            text = self._brought(call)
        except InputError as error:
            text, refused = f"refused: {inline(error, longest=400)}", True
        self._calls -= 1
        self._tokens -= estimate_tokens(text)
        self.done.append(
            LookupRecord(
                tool=inline(call.name, longest=40),
                asked=inline(asked_for(call.arguments)),
                found=in_short(text),
                bytes=len(text.encode(errors="replace")),
                seconds=round(time.perf_counter() - begin, 4),
                refused=refused,
            )
        )
        return text

    def _brought(self, call: ToolCall) -> str:
        """The library's text, fenced. InputError for what is refused."""
        if not self.open:
            raise InputError(NONE_LEFT)
        arguments = _arguments(call, self._tools[0].name)
        key = (call.name, json.dumps(arguments, sort_keys=True))
        if (before := self._asked.get(key)) is not None:
            raise InputError(f"that was look-up {before}: its answer stands above")
        text = clean(self._library.call(call.name, arguments))
        self._asked[key] = len(self.done) + 1
        most = min(LONGEST_ANSWER, int((self._tokens - LEAST_TOKENS // 2) * CHARACTERS_PER_TOKEN))
        return fence(cut_to(text, most))

    def _too_many(self, left_out: int, most: int) -> str:
        """Refuse the look-ups of a reply that are beyond what it may ask for at once."""
        text = f"refused: {left_out} further look-ups of this reply, which could ask for {most}"
        self.done.append(
            LookupRecord(
                tool="",
                asked=f"{left_out} more at once",
                found=text,
                bytes=len(text),
                seconds=0.0,
                refused=True,
            )
        )
        return text

    def _left(self) -> str:
        if not self.open:
            return NONE_LEFT[0].upper() + NONE_LEFT[1:] + "."
        return (
            f"{self._calls} look-up{'s are' if self._calls > 1 else ' is'} left, for about "
            f"{self._tokens} tokens. Ask on, or reply with your variant."
        )


def _arguments(call: ToolCall, example: str) -> Mapping[str, Any]:
    if len(call.arguments) > LONGEST_CALL:
        raise InputError(
            f"the arguments have {len(call.arguments)} characters, more than {LONGEST_CALL}"
        )
    try:
        found = json.loads(call.arguments or "{}", strict=False)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"the arguments are not JSON ({error}): write one object of names and texts"
        ) from None
    if not isinstance(found, dict):
        raise InputError(f"the arguments are {type(found).__name__}, not an object of names")
    if not call.name:
        raise InputError(f'no tool is named: write {{"tool": "{example}", "arguments": ...}}')
    return found
