"""Questions and replies as files: asked once, held open, found again by what was asked."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from codegen.chat.messages import Message
from codegen.chat.queue import QueueClient, waiting, without_measurements
from codegen.chat.request import Route
from mcts.errors import AnswerPending, InputError, WorldError

ROUTE = Route("queue/strong")
PROMPT = """It takes 12.34 us at 4116 GB/s, 35% of what is possible.

```c
for (int i = 0; i < 64; ++i) x[i] *= 1.5f;  // 3.2 us
```

Yours is number 2 of the ideas.
"""


def ask(client: QueueClient, text: str = PROMPT, *, seed: int = 1) -> str:
    message: Message = {"role": "user", "content": text}
    return client.complete([message], max_tokens=100, temperature=0.0, seed=seed).text


def client_at(folder: Path, *, patience_s: float | None = 0.0) -> QueueClient:
    return QueueClient(folder, route=ROUTE, patience_s=patience_s)


def answer(prompt: Path, text: str, suffix: str = ".reply.md") -> None:
    """Write a reply some time ago."""
    path = prompt.with_name(prompt.name.replace(".prompt.md", suffix))
    path.write_text(text)
    os.utime(path, (time.time() - 60, time.time() - 60))


def test_a_question_waits_in_the_folder_until_it_is_answered(tmp_path: Path) -> None:
    with pytest.raises(AnswerPending, match=r"waiting for an answer to .*\.prompt\.md"):
        ask(client_at(tmp_path))
    (prompt,) = waiting(tmp_path)
    assert PROMPT.strip() in prompt.read_text()
    answer(prompt, "")
    with pytest.raises(AnswerPending, match=r"its reply is there, but empty"):
        ask(client_at(tmp_path))
    answer(prompt, "my reply\n")
    assert ask(client_at(tmp_path)) == "my reply\n"
    assert waiting(tmp_path) == []


def test_another_process_with_other_measurements_asks_the_same_question(tmp_path: Path) -> None:
    with pytest.raises(AnswerPending):
        ask(client_at(tmp_path))
    answer(waiting(tmp_path)[0], "paid for")
    again = PROMPT.replace("12.34 us", "12.41 us").replace("4116 GB/s", "4,097 GB/s")
    assert ask(client_at(tmp_path), again.replace("35%", "34%")) == "paid for"


@pytest.mark.parametrize(
    "other",
    [
        PROMPT.replace("i < 64", "i < 32"),
        PROMPT.replace("3.2 us", "3.3 us"),
        PROMPT.replace("number 2", "number 1"),
        PROMPT.replace("of what is possible", "of the ceiling"),
    ],
    ids=["code", "a time in code", "which idea", "words"],
)
def test_what_asks_something_else_is_another_question(tmp_path: Path, other: str) -> None:
    for text in (PROMPT, other):
        with pytest.raises(AnswerPending):
            ask(client_at(tmp_path), text)
    assert len(waiting(tmp_path)) == 2


def test_each_sample_of_a_question_has_its_own_reply(tmp_path: Path) -> None:
    for seed in (1, 2):
        with pytest.raises(AnswerPending):
            ask(client_at(tmp_path), seed=seed)
    assert len(waiting(tmp_path)) == 2


def test_a_reply_that_is_still_being_written_is_not_taken(tmp_path: Path) -> None:
    client = client_at(tmp_path, patience_s=30)
    got: list[str] = []
    thread = threading.Thread(target=lambda: got.append(ask(client)))
    thread.start()
    while not waiting(tmp_path):
        time.sleep(0.01)
    reply = tmp_path / waiting(tmp_path)[0].name.replace(".prompt.md", ".reply.md")
    reply.write_text("first half, ")
    time.sleep(0.3)
    with reply.open("a") as stream:
        stream.write("second half")
    thread.join()
    assert got == ["first half, second half"]


def test_a_reply_that_is_written_anew_while_it_is_read_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AnswerPending):
        ask(client_at(tmp_path))
    (prompt,) = waiting(tmp_path)
    answer(prompt, "the first reply")
    read = Path.read_text

    def emptied_before(path: Path, *given: Any, **named: Any) -> str:
        if path.name.endswith(".reply.md"):
            path.write_text("")
        return read(path, *given, **named)

    monkeypatch.setattr(Path, "read_text", emptied_before)
    with pytest.raises(AnswerPending):
        ask(client_at(tmp_path))


def test_costs_are_told_in_json(tmp_path: Path) -> None:
    with pytest.raises(AnswerPending):
        ask(client_at(tmp_path))
    told = {"text": "hello", "model": "strong-2026", "prompt_tokens": 7, "cost_usd": 0.25}
    answer(waiting(tmp_path)[0], json.dumps(told), ".reply.json")
    message: Message = {"role": "user", "content": PROMPT}
    reply = client_at(tmp_path).complete([message], max_tokens=1, temperature=1.0, seed=1)
    assert (reply.text, reply.model, reply.asked) == ("hello", "strong-2026", "queue/strong")
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost_usd) == (7, None, 0.25)


@pytest.mark.parametrize("text", ["{", "[1]", '{"model": "x"}', '{"text": 5}'])
def test_json_that_holds_no_reply_is_said_in_a_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(AnswerPending):
        ask(client_at(tmp_path))
    answer(waiting(tmp_path)[0], text, ".reply.json")
    with pytest.raises(WorldError, match="write it anew"):
        ask(client_at(tmp_path))


def test_closing_ends_the_wait(tmp_path: Path) -> None:
    client = client_at(tmp_path, patience_s=None)
    threading.Timer(0.2, client.close).start()
    with pytest.raises(WorldError, match="closed"):
        ask(client)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="--llm-queue"):
        client_at(tmp_path / "file" / "queue")


def test_tables_of_counters_count_as_measured() -> None:
    table = "| sectors | 123,456 | |\nA row of 64 values in 3 s"
    assert without_measurements(table) == "| sectors | # | |\nA row of 64 values in # s"
