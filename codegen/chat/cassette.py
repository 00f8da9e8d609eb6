"""Cassettes: real answers recorded to a JSON-lines file, and replayed without a network."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ValidationError, field_validator

from codegen.chat.messages import ChatClient, Message, Offer, Reply, reply_from
from codegen.chat.request import ChatRequest, Route
from mcts.domain import first_problem
from mcts.errors import InputError, ProposalRejected, WorldError
from mcts.formats import parse_json
from mcts.library import LibraryTool

_EXCERPT_LENGTH = 30


@dataclass(frozen=True, slots=True)
class RefusedPrompt:
    """What the service said when it refused the prompt."""

    text: str


class RecordingClient:
    """Asks `inner` and appends every question and answer to `path`, refused prompts included.

    Failures that say nothing about the question (no answer came, the client was closed) are not
    recorded. Thread-safe. InputError for a file that cannot be written or holds something else.
    """

    def __init__(self, inner: ChatClient, path: Path, *, route: Route) -> None:
        self._inner, self._route, self._path = inner, route, path
        self._lock = threading.Lock()
        try:
            _end_last_line(path)
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise InputError(f"--llm-record {path}: {error.strerror}") from None
        except InputError as error:
            raise InputError(f"--llm-record: {error}, or name another file") from None

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
    Nothing is paid: replies are `cached`. InputError for a file that is no recording, or empty.
    """

    def __init__(self, path: Path, *, route: Route) -> None:
        self._path, self._route = path, replace(route, api_base=None)
        self._lock = threading.Lock()
        self._answers: defaultdict[str, list[Reply | RefusedPrompt]] = defaultdict(list)
        self._requests, self._torn = recorded(path)
        if not self._requests:
            raise InputError(f"{path} holds no recorded answer{self._torn}")
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
                    f"{self._path} holds no answer to this request: "
                    f"{self._nearest(asked)}{self._torn}"
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
        return max(differences, key=lambda each: each[0])[1]


def _end_last_line(path: Path) -> None:
    """Have a tape end with a whole line: what a kill cut off of the last one is removed.

    InputError for a file that is no tape, which stays as it is.
    """
    if not path.is_file():
        return
    found, torn = recorded(path)
    begin = path.read_bytes().strip()[: len(_BEGIN)]
    if torn and not found and not _BEGIN.startswith(begin):
        raise InputError(f"{path} holds something else than recorded answers")
    with path.open("rb+") as stream:
        content = stream.read()
        whole = content.rfind(b"\n") + 1
        last = content[whole:]
        if not last.strip():
            return
        try:
            _entry(parse_json(last))
        except _DAMAGES:
            stream.truncate(whole)
        else:
            stream.write(b"\n")


def recorded(path: Path) -> tuple[list[tuple[ChatRequest, Reply | RefusedPrompt]], str]:
    """What was recorded, and words that name a last line which a kill cut off.

    InputError for a file that is no recording.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"{path} cannot be read as a recording of answers: {error}") from None
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found.append(_entry(parse_json(line)))
        except _DAMAGES as error:
            if number == len(lines):
                return found, f" (line {number}, the last, is cut short and left out)"
            raise InputError(
                f"{path}, line {number} is no recorded answer: {_what(error)}; take it out"
            ) from None
    return found, ""


_BEGIN = b'{"request"'
_DAMAGES = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What reading a line of wrong types ends in; pydantic's errors are ValueErrors."""


def _what(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return first_problem(error)
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)


class _Asked(BaseModel):
    """A recorded question. Numbers stay as they are written: the question's key depends on it."""

    models: tuple[str, ...]
    messages: tuple[dict[str, Any], ...]
    max_tokens: int
    temperature: int | float
    seed: int | None
    probabilities: bool = False

    @field_validator("messages")
    @classmethod
    def _have_texts(cls, messages: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        for message in messages:
            if not all(isinstance(message.get(name), str) for name in ("role", "content")):
                raise ValueError("a message has no role or no content")
        return messages


def _entry(line: dict[str, Any]) -> tuple[ChatRequest, Reply | RefusedPrompt]:
    asked = _Asked.model_validate(line["request"])
    request = ChatRequest(
        models=asked.models,
        server=None,
        messages=cast(tuple[Message, ...], asked.messages),
        max_tokens=asked.max_tokens,
        temperature=asked.temperature,
        seed=asked.seed,
        offer=_offer(line["request"].get("offer")),
        probabilities=asked.probabilities,
    )
    request.key.encode()  # an error for half of a character
    if "refusal" in line:
        return request, RefusedPrompt(str(line["refusal"]))
    return request, reply_from(line["reply"])


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
    if asked.probabilities != recorded.probabilities:
        return (3,), "with and without --model-prior"
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
