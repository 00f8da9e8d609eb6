"""Answers on a tape: real ones recorded to a JSON-lines file, and played with no network."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from codegen.chat import ChatClient, Message, Offer, Reply
from codegen.chat_request import ChatRequest, Route
from mcts.errors import InputError, WorldError
from mcts.library import LibraryTool

_AROUND = 30


class RecordingClient:
    """Asks `inner` and appends every question and answer to `path`. Thread-safe."""

    def __init__(self, inner: ChatClient, path: Path, *, route: Route) -> None:
        self._inner, self._route, self._path = inner, route, path
        self._lock = threading.Lock()
        try:
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise InputError(f"--llm-record {path}: {error.strerror}") from None

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        seed: int | None = None,
        offer: Offer | None = None,
    ) -> Reply:
        reply = self._inner.complete(
            messages, max_tokens=max_tokens, temperature=temperature, seed=seed, offer=offer
        )
        request = self._route.request(
            messages, max_tokens=max_tokens, temperature=temperature, seed=seed, offer=offer
        )
        entry = {"request": request.as_dict(), "reply": reply.as_dict()}
        line = json.dumps(entry, ensure_ascii=False)
        try:
            with self._lock:
                self._file.write(line + "\n")
                self._file.flush()
        except OSError as error:
            raise WorldError(f"{self._path} cannot be written: {error.strerror}") from None
        return reply

    def close(self) -> None:
        self._inner.close()
        with self._lock:
            self._file.close()


class CassetteClient:
    """Plays what a `RecordingClient` recorded. Thread-safe.

    A question that was recorded several times is answered in that order, then with the last
    answer again. Where the server stood does not matter. Nothing is paid: replies are `cached`.
    """

    def __init__(self, path: Path, *, route: Route) -> None:
        self._path, self._route = path, replace(route, api_base=None)
        self._lock = threading.Lock()
        self._replies: defaultdict[str, list[Reply]] = defaultdict(list)
        self._requests = _read(path)
        for request, reply in self._requests:
            self._replies[request.key].append(reply)
        for replies in self._replies.values():
            replies.reverse()

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        seed: int | None = None,
        offer: Offer | None = None,
    ) -> Reply:
        asked = self._route.request(
            messages, max_tokens=max_tokens, temperature=temperature, seed=seed, offer=offer
        )
        with self._lock:
            replies = self._replies.get(asked.key)
            if replies:
                reply = replies.pop() if len(replies) > 1 else replies[0]
                return reply.from_before()
        raise WorldError(f"{self._path} holds no answer to this request: {self._nearest(asked)}")

    def close(self) -> None:
        """Nothing is in flight."""

    def _nearest(self, asked: ChatRequest) -> str:
        """The first difference from the recorded request that is alike the longest."""
        differences = [_difference(asked, recorded) for recorded, _ in self._requests]
        return max(differences, default=((), "nothing is recorded"), key=lambda each: each[0])[1]


def _read(path: Path) -> list[tuple[ChatRequest, Reply]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as a recording of answers: {error}") from None
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found.append(_entry(json.loads(line)))
        except (ValueError, TypeError, KeyError) as error:
            if number == len(lines):
                break  # the recording was killed in mid-line
            raise InputError(f"{path}, line {number} is no recorded answer: {error}") from None
    return found


def _entry(line: dict[str, Any]) -> tuple[ChatRequest, Reply]:
    asked = line["request"]
    request = ChatRequest(
        models=tuple(asked["models"]),
        server=None,
        messages=tuple(asked["messages"]),
        max_tokens=asked["max_tokens"],
        temperature=asked["temperature"],
        seed=asked["seed"],
        offer=_offer(asked.get("offer")),
    )
    return request, Reply(**line["reply"])


def _offer(told: dict[str, Any] | None) -> Offer | None:
    if told is None:
        return None
    return Offer(tools=tuple(LibraryTool(**tool) for tool in told["tools"]), open=told["open"])


def _difference(asked: ChatRequest, recorded: ChatRequest) -> tuple[tuple[int, ...], str]:
    """How far two requests are alike, and in words where they part: models, then messages, then
    numbers."""
    if asked.models != recorded.models:
        return (0,), f"models {list(asked.models)}, recorded {list(recorded.models)}"
    for index, (mine, theirs) in enumerate(zip(asked.messages, recorded.messages, strict=False)):
        if mine != theirs:
            said, heard = _told(mine), _told(theirs)
            at = _parting(said, heard)
            return (1, index, at), (
                f"message {index + 1} ({mine['role']}), character {at + 1}: "
                f"{_excerpt(said, at)!r}, recorded {_excerpt(heard, at)!r}"
            )
    if len(asked.messages) != len(recorded.messages):
        alike = min(len(asked.messages), len(recorded.messages))
        how_many = f"{len(asked.messages)} messages, recorded {len(recorded.messages)}"
        return (1, alike, 0), how_many
    for name in ("max_tokens", "temperature", "seed"):
        mine_, theirs_ = getattr(asked, name), getattr(recorded, name)
        if mine_ != theirs_:
            return (3,), f"{name} {mine_}, recorded {theirs_}"
    if asked.offer != recorded.offer:
        return (3,), "other tools to look things up with"
    return (4,), "none, it is the same"


def _told(message: Message) -> str:
    """All that a message says, its calls behind its text."""
    calls = message.get("tool_calls")
    return message["content"] + (json.dumps(calls, ensure_ascii=False) if calls else "")


def _parting(mine: str, theirs: str) -> int:
    pairs = zip(mine, theirs, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(mine), len(theirs)))


def _excerpt(text: str, at: int) -> str:
    return text[max(0, at - _AROUND // 2) : at + _AROUND]
