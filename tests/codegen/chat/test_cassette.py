"""Answers on a tape."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codegen.chat.cassette import CassetteClient, RecordingClient
from codegen.chat.messages import ChatClient, Message, Reply
from codegen.chat.request import Route
from mcts.errors import InputError, ProposalRejected, WorldError
from tests.support.scripted_client import ScriptedClient

ROUTE = Route("openai/test", (), "http://me:hunter22-hunter22@host:1/v1")


def ask(client: ChatClient, text: str = "hello there", **changes: Any) -> Reply:
    messages: list[Message] = [
        {"role": "system", "content": "You write kernels."},
        {"role": "user", "content": text},
    ]
    return client.complete(messages, **{"max_tokens": 9, "temperature": 0.5, "seed": 1, **changes})


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    path = tmp_path / "tape.jsonl"
    client = RecordingClient(ScriptedClient(["one", "two", "three"]), path, route=ROUTE)
    assert ask(client).text == "one"
    assert ask(client).text == "two"
    assert ask(client, "goodbye").text == "three"
    client.close()
    return path


def test_a_recording_is_played_whatever_the_servers_address(tape: Path) -> None:
    client = CassetteClient(tape, route=Route("openai/test"))
    reply = ask(client, "goodbye")
    assert reply.text == "three"
    assert (reply.cached, reply.cost_usd, reply.original_cost_usd) == (True, 0.0, 0.01)
    assert [ask(client).text for _ in range(3)] == ["one", "two", "two"]


def test_a_recording_goes_on_in_the_same_file(tape: Path) -> None:
    client = RecordingClient(ScriptedClient(["four"]), tape, route=ROUTE)
    ask(client, seed=2)
    client.close()
    played = CassetteClient(tape, route=ROUTE)
    assert ask(played, seed=2).text == "four" and ask(played).text == "one"


def test_a_refusal_is_played_as_one_in_its_turn(tmp_path: Path) -> None:
    path, said = tmp_path / "tape.jsonl", "openai/test refused the prompt: against our policy"
    script = [ProposalRejected(said), "an answer after all", ProposalRejected(said)]
    client = RecordingClient(ScriptedClient(script), path, route=ROUTE)
    with pytest.raises(ProposalRejected):
        ask(client)
    assert ask(client).text == "an answer after all"
    with pytest.raises(ProposalRejected):
        ask(client, "goodbye")
    client.close()
    played = CassetteClient(path, route=Route("openai/test"))
    with pytest.raises(ProposalRejected) as caught:
        ask(played)
    assert str(caught.value) == said and caught.value.usage == {}
    assert ask(played).text == "an answer after all"
    for _ in range(2):
        with pytest.raises(ProposalRejected, match="against our policy"):
            ask(played, "goodbye")


def test_a_world_error_is_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    client = RecordingClient(ScriptedClient([WorldError("gone"), "here"]), path, route=ROUTE)
    with pytest.raises(WorldError, match="gone"):
        ask(client)
    assert ask(client).text == "here"
    client.close()
    assert ask(CassetteClient(path, route=ROUTE)).text == "here"


@pytest.mark.parametrize(
    ("route", "changes", "difference"),
    [
        (Route("openai/else"), {}, "models ['openai/else'], recorded ['openai/test']"),
        (
            ROUTE,
            {"text": "hello where"},
            "message 2 (user), character 7: 'hello where', recorded 'hello there'",
        ),
        (ROUTE, {"seed": 7}, "seed 7, recorded 1"),
        (ROUTE, {"max_tokens": 8}, "max_tokens 8, recorded 9"),
        (replace(ROUTE, probabilities=True), {}, "with and without --model-prior"),
    ],
    ids=str,
)
def test_an_unrecorded_request_is_described_by_its_first_difference(
    tape: Path, route: Route, changes: Any, difference: str
) -> None:
    with pytest.raises(WorldError) as caught:
        ask(CassetteClient(tape, route=route), **changes)
    assert difference in str(caught.value)


def test_no_secret_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "planted-secret-1234567890")
    path = tmp_path / "tape.jsonl"
    client = RecordingClient(ScriptedClient(["fine"]), path, route=ROUTE)
    ask(client, "log: planted-secret-1234567890")
    client.close()
    text = path.read_text()
    assert "secret" not in text and "hunter22" not in text and "[SOME_API_KEY]" in text
    assert ask(CassetteClient(path, route=ROUTE), "log: planted-secret-1234567890").text == "fine"


def test_a_line_cut_short_by_a_kill_is_left_out_and_any_other_is_an_error(tape: Path) -> None:
    lines = tape.read_text().splitlines()
    tape.write_text("\n".join([*lines, lines[0][:40]]))
    assert ask(CassetteClient(tape, route=ROUTE), "goodbye").text == "three"
    tape.write_text("\n".join([lines[0][:40], *lines]))
    with pytest.raises(InputError, match="line 1 is no recorded answer"):
        CassetteClient(tape, route=ROUTE)
    with pytest.raises(InputError, match="cannot be read"):
        CassetteClient(tape.with_name("absent"), route=ROUTE)


@pytest.mark.parametrize("text", ["", "\n", "{", '{"req', '{"request": {"mod'])
def test_an_empty_tape_says_so_before_anything_is_asked(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tape.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match="holds no recorded answer"):
        CassetteClient(path, route=ROUTE)
    RecordingClient(ScriptedClient(["one"]), path, route=ROUTE).close()


@pytest.mark.parametrize("text", ["precious\n", "precious", '{"other": 1}\n', "\n precious"])
def test_nothing_is_recorded_into_a_file_that_is_no_tape(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=r"--llm-record: .*notes\.txt.*, or name another file"):
        RecordingClient(ScriptedClient(["one"]), path, route=ROUTE)
    assert path.read_text() == text


def test_a_reply_with_the_line_ends_of_unicode_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    text = "a\u2028b\u2029c\x85d\x0ce"
    client = RecordingClient(ScriptedClient([text]), path, route=ROUTE)
    ask(client)
    client.close()
    assert ask(CassetteClient(path, route=ROUTE)).text == text


@pytest.mark.parametrize(("cut", "kept"), [(1, ["one", "two", "three"]), (40, ["one", "two"])])
def test_a_tape_that_was_cut_off_goes_on_with_whole_lines(
    tape: Path, cut: int, kept: list[str]
) -> None:
    tape.write_bytes(tape.read_bytes()[:-cut])
    client = RecordingClient(ScriptedClient(["four"]), tape, route=ROUTE)
    ask(client, "more")
    client.close()
    texts = [json.loads(line)["reply"]["text"] for line in tape.read_text().split("\n")[:-1]]
    assert texts == [*kept, "four"]
    assert ask(CassetteClient(tape, route=ROUTE), "more").text == "four"


def test_a_last_line_that_was_cut_off_is_named_if_an_answer_is_missing(tape: Path) -> None:
    tape.write_bytes(tape.read_bytes()[:-40])
    with pytest.raises(WorldError, match=r"line 3, the last, is cut short and left out"):
        ask(CassetteClient(tape, route=ROUTE), "goodbye")


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        ("request", {"models": 5}),
        ("request", {"messages": [5]}),
        ("request", {"messages": [{"role": "user"}]}),
        ("request", {"messages": [{"role": "user", "content": 7}]}),
        ("request", {"max_tokens": {}}),
        ("request", {"temperature": "hot"}),
        ("request", {"temperature": float("nan")}),
        ("request", {"offer": 3}),
        ("request", {"offer": {"tools": [3], "open": True}}),
        ("reply", {"text": 5}),
        ("reply", {"text": None}),
        ("reply", {"model": []}),
        ("reply", {"faults": 3}),
        ("reply", {"tool_calls": [5]}),
        ("reply", {"prompt_tokens": "many"}),
        ("reply", {"cost_usd": {}}),
    ],
)
def test_a_line_of_wrong_types_is_named(tape: Path, part: str, fields: dict[str, Any]) -> None:
    first, *rest = tape.read_text().split("\n")
    entry = json.loads(first)
    entry[part] |= fields
    tape.write_text("\n".join([json.dumps(entry), *rest]))
    with pytest.raises(InputError, match="line 1 is no recorded answer") as error:
        CassetteClient(tape, route=ROUTE)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("line", ["[" * 100_000, "9" * 5000, "[]", "3", '{"request": 3}', "{}"])
def test_a_line_that_is_no_entry_is_named(tape: Path, line: str) -> None:
    tape.write_text(line + "\n" + tape.read_text())
    with pytest.raises(InputError, match="line 1 is no recorded answer"):
        CassetteClient(tape, route=ROUTE)
