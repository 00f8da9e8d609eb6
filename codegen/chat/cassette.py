"""Cassettes: real answers recorded to a JSON-lines file, and replayed without a network."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from codegen.chat.messages import ChatClient, Message, Offer, Reply
from codegen.chat.request import ChatRequest, Route
from mcts.errors import InputError, ProposalRejected, WorldError
from mcts.library import LibraryTool

_EXCERPT_LENGTH = 30


@dataclass(frozen=True, slots=True)
class RefusedPrompt:
    """What the service said when it refused the prompt."""

    text: str


class RecordingClient:
    """Asks `inner` and appends every question and answer to `path`, refused prompts included.

    Failures that say nothing about the question (no answer came, the client was closed) are not
    recorded. Thread-safe.
    """

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
        request = self._route.request(
            messages, max_tokens=max_tokens, temperature=temperature, seed=seed, offer=offer
        )
        try:
            reply = self._inner.complete(
                messages, max_tokens=max_tokens, temperature=temperature, seed=seed, offer=offer
            )
        except ProposalRejected as error:
            self._write(request, {"refusal": str(error)})
            raise
        self._write(request, {"reply": reply.as_dict()})
        return reply

    def _write(self, request: ChatRequest, answer: Mapping[str, Any]) -> None:
        line = json.dumps({"request": request.as_dict(), **answer}, ensure_ascii=False)
        try:
            with self._lock:
                self._file.write(line + "\n")
                self._file.flush()
        except OSError as error:
            raise WorldError(f"{self._path} cannot be written: {error.strerror}") from None

    def close(self) -> None:
        self._inner.close()
        with self._lock:
            self._file.close()


class CassetteClient:
    """Replays what a `RecordingClient` recorded. Thread-safe.

    A question that was recorded several times is answered in that order, then with the last
    answer again; a refused prompt raises ProposalRejected. The server's address does not matter.
    Nothing is paid: replies are `cached`.
    """

    def __init__(self, path: Path, *, route: Route) -> None:
        self._path, self._route = path, replace(route, api_base=None)
        self._lock = threading.Lock()
        self._answers: defaultdict[str, list[Reply | RefusedPrompt]] = defaultdict(list)
        self._requests = _read(path)
        for request, answer in self._requests:
            self._answers[request.key].append(answer)
        for answers in self._answers.values():
            answers.reverse()

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
            answers = self._answers.get(asked.key)
            if answers is None:
                raise WorldError(
                    f"{self._path} holds no answer to this request: {self._nearest(asked)}"
                )
            answer = answers.pop() if len(answers) > 1 else answers[0]
        if isinstance(answer, RefusedPrompt):
            raise ProposalRejected(answer.text)
        return answer.from_before()

    def close(self) -> None:
        """Nothing is in flight."""

    def _nearest(self, asked: ChatRequest) -> str:
        """The first difference from the most similar recorded request."""
        differences = [_difference(asked, recorded) for recorded, _ in self._requests]
        return max(differences, default=((), "nothing is recorded"), key=lambda each: each[0])[1]


def _read(path: Path) -> list[tuple[ChatRequest, Reply | RefusedPrompt]]:
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


def _entry(line: dict[str, Any]) -> tuple[ChatRequest, Reply | RefusedPrompt]:
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
    if "refusal" in line:
        return request, RefusedPrompt(str(line["refusal"]))
    return request, Reply(**line["reply"])


def _offer(told: dict[str, Any] | None) -> Offer | None:
    if told is None:
        return None
    return Offer(tools=tuple(LibraryTool(**tool) for tool in told["tools"]), open=told["open"])


def _difference(asked: ChatRequest, recorded: ChatRequest) -> tuple[tuple[int, ...], str]:
    """How far two requests agree, and their first difference in words: models, then messages, then
    numbers."""
    if asked.models != recorded.models:
        return (0,), f"models {list(asked.models)}, recorded {list(recorded.models)}"
    for index, (mine, theirs) in enumerate(zip(asked.messages, recorded.messages, strict=False)):
        if mine != theirs:
            asked_text, recorded_text = _full_text(mine), _full_text(theirs)
            at = _first_difference(asked_text, recorded_text)
            return (1, index, at), (
                f"message {index + 1} ({mine['role']}), character {at + 1}: "
                f"{_excerpt(asked_text, at)!r}, recorded {_excerpt(recorded_text, at)!r}"
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


def _full_text(message: Message) -> str:
    """A message's text followed by its calls."""
    calls = message.get("tool_calls")
    return message["content"] + (json.dumps(calls, ensure_ascii=False) if calls else "")


def _first_difference(mine: str, theirs: str) -> int:
    pairs = zip(mine, theirs, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(mine), len(theirs)))


def _excerpt(text: str, at: int) -> str:
    return text[max(0, at - _EXCERPT_LENGTH // 2) : at + _EXCERPT_LENGTH]
