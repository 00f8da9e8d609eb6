"""The questions and answers that runs keep, and which of them a candidate was read from."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegen.chat.cassette import recorded
from codegen.chat.messages import Message, Reply
from codegen.dialects import writing_of
from codegen.prompting.untrusted import clean, inline
from codegen.prompting.variant import shown_source
from experiments.training.reading import read_against
from mcts.domain import Candidate, KernelTask
from mcts.errors import InputError, ProposalRejected
from mcts.formats import SQLITE_ERRORS, FormatError, parse_json
from mcts.ports import ProposalRequest

_TITLE = re.compile(r"^# Task: (.*)$", re.MULTILINE)
_VARIANT = re.compile(r"^# The variant$.*?^(`{3,})[a-z]*\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
"""The first code block below the heading of the variant that a prompt builds upon."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A question and what came back."""

    messages: tuple[Message, ...]
    text: str
    model: str
    finish_reason: str | None


def stored_answers(path: Path) -> list[Answer]:
    """The answers of a cache; none if there is no such file."""
    if not path.is_file():
        return []
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            rows = connection.execute("SELECT request, reply FROM answer ORDER BY at").fetchall()
        return [_answer(parse_json(request), parse_json(reply)) for request, reply in rows]
    except (*SQLITE_ERRORS, FormatError, KeyError, TypeError) as error:
        raise InputError(f"{path} cannot be read as a cache of answers: {error}") from None


def tape_answers(path: Path) -> Iterator[Answer]:
    """The answers of a file that ``--llm-record`` wrote."""
    answers, _ = recorded(path)
    for request, answer in answers:
        if isinstance(answer, Reply):
            yield Answer(
                messages=request.messages,
                text=answer.text,
                model=answer.model or request.models[0],
                finish_reason=answer.finish_reason,
            )


def by_question(answers: Iterable[Answer]) -> dict[tuple[str, str], list[Answer]]:
    """By the task and the code of the variant that the question shows; "" if it shows none."""
    found: dict[tuple[str, str], list[Answer]] = defaultdict(list)
    for answer in answers:
        asked = "\n".join(
            message["content"] for message in answer.messages if message["role"] == "user"
        )
        title, variant = _TITLE.search(asked), _VARIANT.search(asked)
        key = title[1] if title else "", variant[2].strip("\n") if variant else ""
        found[key].append(answer)
    return found


def answers_holding(
    candidate: Candidate,
    parent: Candidate,
    task: KernelTask,
    asked: Mapping[tuple[str, str], Sequence[Answer]],
    *,
    from_baseline: bool = False,
) -> Iterator[Answer]:
    """The answers to questions about `parent` that, read as a search reads them, hold `candidate`.

    A question that starts from the baseline may show no code.
    """
    shown = clean(shown_source(parent, task.dialect)).strip("\n")
    request = read_against(task, parent)
    title = inline(task.name)
    places = [(title, shown), *([(title, "")] if from_baseline else [])]
    for answer in (answer for place in places for answer in asked.get(place, ())):
        if _holds(answer, candidate, request):
            yield answer


def _holds(answer: Answer, candidate: Candidate, request: ProposalRequest) -> bool:
    """Whether the candidate, with these or other values, is what the answer's code says."""
    dialect = request.task.dialect
    for tunables_only in (False, True):
        writing = writing_of(dialect).asked(tunables_only=tunables_only)
        try:
            read = writing.read(answer.text, request, finish_reason=answer.finish_reason)
        except ProposalRejected:
            continue
        same_values = read.candidate.tunables == candidate.tunables
        if read.candidate.source == candidate.source and (same_values or not tunables_only):
            return True
    return False


def _answer(request: Any, reply: Any) -> Answer:
    return Answer(
        messages=tuple(request["messages"]),
        text=str(reply["text"]),
        model=str(reply.get("model") or request["models"][0]),
        finish_reason=reply.get("finish_reason"),
    )
