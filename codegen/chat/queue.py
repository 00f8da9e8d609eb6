"""A model that answers late, or a person: requests and replies are files in a folder.

`DIR/ID.prompt.md` holds what is asked, for reading; whoever answers writes `DIR/ID.reply.md`, the
reply's text alone, or `DIR/ID.reply.json` with a "text" and what is known of "model",
"prompt_tokens", "completion_tokens" and "cost_usd".
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegen.chat.messages import LONGEST_REPLY, TOO_LONG, Message, Offer, Reply, head_of
from codegen.chat.request import ChatRequest, Route
from codegen.chat.scrubbing import hide
from mcts.errors import AnswerPending, InputError, WorldError
from mcts.files import write_whole
from mcts.formats import FormatError, parse_json

PROMPT, REPLY, REPLY_WITH_COSTS = ".prompt.md", ".reply.md", ".reply.json"
_ID_LENGTH = 20
_POLL_S = 0.5
_SETTLED_S = 1.0
"""A reply counts once its file has not changed for so long: it may still be written."""
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})", re.MULTILINE)
_MEASURED = re.compile(
    r"\d[\d,]*\.\d+(?:[eE][+-]?\d+)?|\d[\d,]*(?=\s?(?:%|[munµ]?s\b|[GT]B/s|TFLOP/s|x\b))"
)
"""Fractions, and whole numbers with the unit of a measurement."""


class QueueClient:
    """Writes each question into `folder` and waits until its reply lies there. Thread-safe.

    A question is known by what it asks: the same words with other measured times, rates or counters
    are the same question. So a run that is resumed, repeated or moved to another machine finds the
    replies that are there, and nothing is asked twice.

    `patience_s` bounds the wait, None does not; then `complete` raises AnswerPending, which leaves
    the question in the folder. Raises InputError for a folder that cannot be used.
    """

    def __init__(self, folder: Path, *, route: Route, patience_s: float | None = None) -> None:
        self._folder, self._route, self._patience_s = folder, route, patience_s
        self._closed = threading.Event()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"--llm-queue {folder}: {error.strerror}") from None

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        seed: int | None = None,
        offer: Offer | None = None,
    ) -> Reply:
        """The reply to these messages, once it is there.

        Raises AnswerPending if patience ends before, WorldError if the client is closed or the
        folder cannot be used.
        """
        request = self._route.request(
            messages, max_tokens=max_tokens, temperature=temperature, seed=seed, offer=offer
        )
        question = _Question(self._folder, question_id(request))
        if (reply := self._read(question)) is not None:
            return reply
        self._ask(question, request)
        return self._wait(question)

    def close(self) -> None:
        """Give up waiting; the questions stay. Idempotent."""
        self._closed.set()

    def _ask(self, question: _Question, request: ChatRequest) -> None:
        """Write a question that is not there yet."""
        if question.prompt.exists():
            return
        try:
            write_whole(question.prompt, _as_text(request))
        except OSError as error:
            raise WorldError(f"{question.prompt} cannot be written: {error.strerror}") from None

    def _wait(self, question: _Question) -> Reply:
        ends = None if self._patience_s is None else time.monotonic() + self._patience_s
        while ends is None or time.monotonic() < ends:
            left = _POLL_S if ends is None else max(0.0, ends - time.monotonic())
            if self._closed.wait(min(_POLL_S, left)):
                raise WorldError("the client of the language model was closed")
            if (reply := self._read(question)) is not None:
                return reply
        empty = " (its reply is there, but empty)" if question.has_empty_reply() else ""
        raise AnswerPending(f"waiting for an answer to {question.prompt}{empty}")

    def _read(self, question: _Question) -> Reply | None:
        """The reply if it is there and whole."""
        for path in (question.reply, question.reply_with_costs):
            try:
                before = path.stat()
                if before.st_size == 0 or time.time() - before.st_mtime < _SETTLED_S:
                    continue
                text = path.read_text(encoding="utf-8", errors="replace")
                after = path.stat()
                if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                    continue  # it is being written again
            except FileNotFoundError:
                continue
            except OSError as error:
                raise WorldError(f"{path} cannot be read: {error.strerror}") from None
            return self._reply(text, path)
        return None

    def _reply(self, text: str, path: Path) -> Reply:
        told: dict[str, Any] = {"text": text}
        if path.name.endswith(REPLY_WITH_COSTS):
            told = _with_costs(text, path)
        said, finished = told["text"], "stop"
        if len(said) > LONGEST_REPLY:
            said, finished = head_of(said), TOO_LONG
        return Reply(
            text=hide(said),
            model=str(told.get("model") or self._route.model),
            asked=self._route.model,
            finish_reason=finished,
            prompt_tokens=told.get("prompt_tokens"),
            completion_tokens=told.get("completion_tokens"),
            cost_usd=told.get("cost_usd"),
        )


@dataclass(frozen=True, slots=True)
class _Question:
    """The files of one question."""

    folder: Path
    id: str

    @property
    def prompt(self) -> Path:
        return self.folder / f"{self.id}{PROMPT}"

    @property
    def reply(self) -> Path:
        return self.folder / f"{self.id}{REPLY}"

    @property
    def reply_with_costs(self) -> Path:
        return self.folder / f"{self.id}{REPLY_WITH_COSTS}"

    def has_empty_reply(self) -> bool:
        """Whether somebody has made the reply's file and written nothing into it."""
        files = (self.reply, self.reply_with_costs)
        return any(file.is_file() and not file.stat().st_size for file in files)


def question_id(request: ChatRequest) -> str:
    """Equal for requests that ask the same, whatever was measured meanwhile.

    Numbers outside of code that were measured are left out: fractions, numbers with a unit, and
    those in tables. The server's address, the temperature and the reply's length do not matter
    either; the seed does, which tells one sample of a question from another.
    """
    asked = {
        "models": request.models,
        "seed": request.seed,
        "messages": [
            {**message, "content": without_measurements(message["content"])}
            for message in request.messages
        ],
    }
    text = json.dumps(asked, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_LENGTH]


def without_measurements(text: str) -> str:
    """The text with `#` in place of each measured number that does not stand in a fence."""
    lines, fence = [], ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and line.strip() == mark[1]:
                fence = ""
        elif mark:
            fence = mark[1]
        elif line.startswith("|"):
            line = re.sub(r"\d[\d.,]*(?:[eE][+-]?\d+)?", "#", line)
        else:
            line = _MEASURED.sub("#", line)
        lines.append(line)
    return "\n".join(lines)


def waiting(folder: Path) -> list[Path]:
    """The prompts in `folder` that have no reply yet, by name."""
    return [
        prompt
        for prompt in sorted(folder.glob(f"*{PROMPT}"))
        if not any(
            prompt.with_name(prompt.name.removesuffix(PROMPT) + suffix).exists()
            for suffix in (REPLY, REPLY_WITH_COSTS)
        )
    ]


def answered(folder: Path) -> frozenset[Path]:
    """The replies in `folder` that count: not empty, and left alone for a second."""
    found = set()
    for suffix in (REPLY, REPLY_WITH_COSTS):
        for path in folder.glob(f"*{suffix}"):
            try:
                state = path.stat()
            except OSError:
                continue  # taken away meanwhile
            if state.st_size > 0 and time.time() - state.st_mtime >= _SETTLED_S:
                found.add(path)
    return frozenset(found)


def _as_text(request: ChatRequest) -> str:
    """The messages one after the other; one alone stands without its role."""
    return (
        "\n\n".join(
            f"<!-- {message['role']} -->\n\n{message['content'].strip()}"
            for message in request.messages
        )
        + "\n"
    )


def _with_costs(text: str, path: Path) -> dict[str, Any]:
    try:
        told = parse_json(text)
    except FormatError as error:
        raise WorldError(f"{path} is not JSON: {error}; write it anew") from None
    if not isinstance(told, dict) or not isinstance(told.get("text"), str):
        raise WorldError(f'{path} has no "text", the reply: write it anew')
    return told
