"""What was said between a run and its language model, where the run folder still holds it.

The journal keeps what a reply cost, not its text. Texts are in the cache of answers and in the
file of `--llm-record`; both keep the seed of each question, which the journal has too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from experiments.runs.options.config import CONFIG_FILE, RunConfig, read_config
from mcts.errors import InputError
from mcts.formats import SQLITE_ERRORS, FormatError, parse_json
from mcts.options import OFF
from mcts.options.model import CACHE_FILE
from mcts.ports import Event

_ALL = "SELECT request, reply, run_id FROM answer ORDER BY at, rowid"


@dataclass(frozen=True, slots=True)
class Message:
    """One message: by `role` (system, user, assistant), and its text."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """One question with its answer, as the model saw them."""

    messages: tuple[Message, ...]


Conversations = Mapping[int, tuple[Conversation, ...]]
"""By node, its questions in the order they were asked."""


def read_conversations(run_dir: Path, events: Iterable[Event]) -> Conversations:
    """Every exchange that can be found and told apart; empty if nothing was kept.

    A file that is gone or cannot be read is passed over: the report shows what there is.
    """
    trials = {
        seed: trial
        for event in events
        if event.kind == "asked"
        and isinstance(seed := event.payload.get("seed"), int)
        and isinstance(trial := event.payload.get("trial"), int)
    }
    config = _config(run_dir)
    if not trials or config is None:
        return {}
    found: dict[int, dict[Conversation, None]] = {}
    for request, reply in _answers(run_dir, config):
        seed, conversation = _seed(request), _conversation(request, reply)
        trial = trials.get(seed) if seed is not None else None
        if trial is not None and conversation is not None:
            found.setdefault(trial, {})[conversation] = None
    return {trial: _longest(conversations) for trial, conversations in found.items()}


def _config(run_dir: Path) -> RunConfig | None:
    try:
        return read_config(run_dir / CONFIG_FILE)
    except InputError:
        return None


def _answers(run_dir: Path, config: RunConfig) -> Iterator[tuple[Any, Any]]:
    """Requests with their replies. A cache may serve many runs: only what this one paid for is
    known to be its own, unless the cache lies in its folder."""
    model = config.model
    if model.cache != OFF:
        path = run_dir / (model.cache or CACHE_FILE)
        own = path.parent == run_dir
        for request, reply, run_id in _rows(path):
            if own or run_id == config.run_id != "":
                yield _parsed(request), _parsed(reply)
    for tape in (model.record, model.replay):
        if tape is not None:
            yield from _lines(tape)


def _rows(path: Path) -> list[tuple[str, str, str]]:
    if not path.is_file():
        return []
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=30.0)) as connection:
            return connection.execute(_ALL).fetchall()
    except SQLITE_ERRORS:
        return []


def _lines(path: Path) -> Iterator[tuple[Any, Any]]:
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            for text in stream:
                entry = _parsed(text)
                if isinstance(entry, dict):
                    yield entry.get("request"), entry.get("reply")
    except OSError:
        return


def _parsed(text: str) -> Any:
    try:
        return parse_json(text)
    except FormatError:
        return None


def _seed(request: Any) -> int | None:
    seed = request.get("seed") if isinstance(request, dict) else None
    return seed if isinstance(seed, int) else None


def _conversation(request: Any, reply: Any) -> Conversation | None:
    messages = request.get("messages") if isinstance(request, dict) else None
    if not isinstance(messages, list) or not isinstance(reply, dict):
        return None
    asked = [_message(each) for each in messages if isinstance(each, dict)]
    answer = {"role": "assistant", "content": reply.get("text", "")}
    return Conversation((*asked, _message({**answer, "tool_calls": reply.get("tool_calls")})))


def _message(message: dict[str, Any]) -> Message:
    """A message with the look-ups that it calls for behind its text."""
    lines = [str(message.get("content", ""))]
    for call in message.get("tool_calls") or ():
        if isinstance(call, dict):
            named = call.get("function", call)
            lines.append(f"{named.get('name', '')} {named.get('arguments', '')}")
    return Message(str(message.get("role", "")), "\n".join(filter(None, lines)))


def _longest(conversations: Iterable[Conversation]) -> tuple[Conversation, ...]:
    """The conversations without those that a later one goes on from, as it does after look-ups."""
    every = tuple(conversations)
    begun = {each.messages[:end] for each in every for end in range(1, len(each.messages))}
    return tuple(each for each in every if each.messages not in begun)
