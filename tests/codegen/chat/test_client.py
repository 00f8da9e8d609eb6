"""The client through the real litellm, over real HTTP, against a scripted server."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from codegen.chat.client import LitellmClient
from codegen.chat.messages import Message, Reply
from codegen.chat.prices import parse_prices, total_usd
from codegen.replies.text import check_finished
from mcts.errors import InputError, ProposalRejected, WorldError
from tests.support.openai_server import (
    Answer,
    Cut,
    Fail,
    Hang,
    OpenAiServer,
    Raw,
    Say,
    Step,
    Trickle,
)

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("litellm") is None, reason="litellm is not installed"
)
ROOT = Path(__file__).parents[3]
SECRET = "sk-planted-secret-1234567890"
HELLO: list[Message] = [{"role": "user", "content": "Say something."}]


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_TOKEN")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("UNRELATED_API_KEY", SECRET)


def client_at(server: OpenAiServer, **options: Any) -> LitellmClient:
    """A client that does not wait between attempts; `pauses` takes what it would have waited."""
    pauses: list[float] = options.pop("pauses", [])
    settings = {"retries": 1, "timeout_s": 20, "sleep": pauses.append, **options}
    return LitellmClient(settings.pop("model", "openai/test"), api_base=server.url, **settings)


def ask(client: LitellmClient, text: str = "Say something.") -> Reply:
    return client.complete([{"role": "user", "content": text}], max_tokens=50, temperature=0.3)


def by_model(**answers: Answer) -> Step:
    """Every model of the server answers in its own way."""
    return lambda body: answers[str(body["model"])]


def test_a_reply_says_what_it_took() -> None:
    said = Say(
        "fine", prompt_tokens=900, completion_tokens=80, reasoning_tokens=60, cached_tokens=512
    )
    with OpenAiServer([said]) as server:
        reply = ask(client_at(server))
        body = server.requests[0].body
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("test", 50, 0.3)
    assert "seed" not in body
    assert reply == Reply(
        text="fine",
        model="test",
        asked="openai/test",
        finish_reason="stop",
        prompt_tokens=900,
        completion_tokens=80,
        reasoning_tokens=60,
        cached_prompt_tokens=512,
    )
    assert reply.usage() == {
        "model": "test",
        "prompt_tokens": 900,
        "completion_tokens": 80,
        "reasoning_tokens": 60,
        "cached_prompt_tokens": 512,
        "cost_usd": None,
    }


def test_tokens_that_the_service_did_not_count_are_unknown_not_zero() -> None:
    with OpenAiServer([Say("fine", counted=False)]) as server:
        reply = ask(client_at(server, prices=parse_prices(["openai/test=1,2"])))
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost_usd) == (None, None, None)


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 10**300, "completion_tokens": 5}, (None, None)),
        ({"prompt_tokens": -900, "completion_tokens": 5}, (None, None)),
        ({"prompt_tokens": 900, "completion_tokens": -5}, (900, None)),
        ({"prompt_tokens": 900, "completion_tokens": 10**300}, (900, None)),
        ({"prompt_tokens": 900, "completion_tokens": 0}, (900, 0)),
        ({"prompt_tokens": 900, "completion_tokens": 80}, (900, 80)),
    ],
)
def test_a_usage_that_cannot_be_is_not_told(
    usage: dict[str, int], counts: tuple[int | None, int | None]
) -> None:
    with OpenAiServer([Raw(answer(usage))]) as server:
        reply = ask(client_at(server, prices=parse_prices(["openai/test=1,2"])))
    assert (reply.prompt_tokens, reply.completion_tokens) == counts
    assert (reply.cost_usd is None) == (None in counts)


@pytest.mark.parametrize("wrong", [1e300, 12.5, "12", "many", True, [], {}, -1.5])
def test_a_usage_of_another_type_never_counts_nor_breaks(wrong: object) -> None:
    """litellm may take it for a count or refuse the whole answer; neither is an error of ours."""
    with OpenAiServer(
        [Raw(answer({"prompt_tokens": wrong, "completion_tokens": wrong}))]
    ) as server:
        client = client_at(server, retries=0, prices=parse_prices(["openai/test=1,2"]))
        try:
            reply = ask(client)
        except WorldError:
            return
    told = (reply.prompt_tokens, reply.completion_tokens)
    assert told in [(None, None), (12, 12), (1, 1)] and (reply.cost_usd is None) == (None in told)


def answer(usage: dict[str, Any]) -> str:
    """A whole answer of a service with this usage."""
    message = {"role": "assistant", "content": "fine"}
    choices = [{"index": 0, "finish_reason": "stop", "message": message}]
    return json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "test",
                       "choices": choices, "usage": usage})  # fmt: skip


def test_of_a_reply_that_is_too_long_the_head_is_kept_with_length_and_hash() -> None:
    text = "/* rooftree " * 500_000
    calls = (("search", '{"query": "' + "x" * 2_000_000 + '"}'), *(("search", "{}"),) * 1100)
    long = (("search", "x" * 15_000),) * 200
    with OpenAiServer([Say(text), Say("", calls=calls), Say("", calls=long)]) as server:
        client = client_at(server)
        reply, asking, many = (ask(client, words) for words in ("one", "two", "three"))
    assert len(reply.text) < 20_000 and text[:10_000] in reply.text
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert reply.text.endswith(f"[cut here: 6000000 characters in all, SHA-256 {digest}]")
    with pytest.raises(ProposalRejected, match="the reply has more than 1000000 characters"):
        check_finished(reply.text, reply.finish_reason)
    assert len(asking.tool_calls) == 1000 and len(asking.tool_calls[0].arguments) < 20_000
    assert sum(len(call.arguments) for call in many.tool_calls) < 1_050_000


@pytest.mark.parametrize(
    "failure",
    [
        429,
        500,
        503,
        408,
        Raw('{"choices": [{"mess'),
        Raw("<html>Bad gateway</html>"),
        Raw(""),
        Raw("null"),
        Raw('{"choices": []}'),
        Cut("hello " * 50),
        Cut("hello " * 50, chunked=True),
        Cut("hello", share=0.0),
    ],
    ids=str,
)
def test_a_transient_failure_is_retried(failure: Answer) -> None:
    with OpenAiServer([failure, "fine"]) as server:
        reply = ask(client_at(server))
        assert len(server.requests) == 2
    assert reply.text == "fine" and reply.attempts == 2
    assert reply.usage()["attempts"] == 2


@pytest.mark.parametrize("silence", [Hang(60), Trickle("hello " * 50, every_s=0.02)])
def test_a_server_that_hangs_or_trickles_is_cut_off_and_asked_again(silence: Answer) -> None:
    with OpenAiServer([silence, "fine"]) as server:
        client = client_at(server, timeout_s=0.4)
        assert ask(client).text == "fine"
    late = r"in 1 attempt: no whole answer within 0\.2 s"
    with OpenAiServer([silence]) as server, pytest.raises(WorldError, match=late):
        ask(client_at(server, timeout_s=0.2, retries=0))


def test_the_pause_is_what_the_service_asks_for() -> None:
    pauses: list[float] = []
    with OpenAiServer([Fail(429, retry_after="7"), Fail(503, retry_after="3"), "fine"]) as server:
        assert ask(client_at(server, retries=2, pauses=pauses)).attempts == 3
    assert 7 <= pauses[0] < 8 and 3 <= pauses[1] < 4


def test_a_pause_of_hours_is_not_waited_for() -> None:
    pauses: list[float] = []
    asks = r"in 1 attempt.*asks to wait 7200 s"
    failure = Fail(429, retry_after="7200")
    with OpenAiServer([failure]) as server, pytest.raises(WorldError, match=asks):
        ask(client_at(server, retries=5, pauses=pauses))
    assert pauses == []


def test_a_lasting_failure_is_a_world_error_after_the_configured_retries() -> None:
    with OpenAiServer([500]) as server:
        with pytest.raises(WorldError, match="in 3 attempts") as caught:
            ask(client_at(server, retries=2))
        assert len(server.requests) == 3
    assert "\n" not in str(caught.value)


def test_an_absent_server_is_a_world_error() -> None:
    with OpenAiServer(["fine"]) as server:
        client = client_at(server)
    with pytest.raises(WorldError, match="gave no answer in 2 attempts"):
        ask(client)


def test_a_refused_prompt_is_rejected_and_no_other_model_is_asked() -> None:
    refusal = Fail(400, message="The prompt was filtered", code="content_filter")
    with OpenAiServer([refusal]) as server:
        with pytest.raises(ProposalRejected, match="refused the prompt"):
            ask(client_at(server, fallbacks=["openai/other"]))
        assert len(server.requests) == 1


def test_a_withheld_reply_is_a_reply() -> None:
    with OpenAiServer([Say("", finish_reason="content_filter")]) as server:
        assert ask(client_at(server)).finish_reason == "content_filter"


def test_a_prompt_too_long_for_one_model_is_for_the_next() -> None:
    long = Fail(400, message="maximum context length is 10", code="context_length_exceeded")
    with OpenAiServer([by_model(test=long, large="fine")]) as server:
        assert ask(client_at(server, fallbacks=["openai/large"])).asked == "openai/large"
        with pytest.raises(ProposalRejected, match="maximum context length"):
            ask(client_at(server))


@pytest.mark.parametrize("failure", [500, 401, 403, 404, 402], ids=str)
def test_a_fallback_answers_if_the_first_model_does_not(failure: int) -> None:
    with OpenAiServer([by_model(test=failure, other="fine")]) as server:
        client = client_at(server, fallbacks=["openai/other"], retries=0)
        reply = ask(client)
        assert (reply.text, reply.asked, reply.attempts) == ("fine", "openai/other", 2)
        assert ask(client).attempts == 1, "the failed one is passed over for a while"
    assert [seen.body["model"] for seen in server.requests] == ["test", "other", "other"]


def test_a_fallback_of_another_provider_is_not_asked_at_ones_own_server() -> None:
    with OpenAiServer([500]) as server:
        client = client_at(server, fallbacks=["anthropic/claude-sonnet-4-5"], retries=0)
        with pytest.raises(WorldError) as caught:
            ask(client)
        assert len(server.requests) == 1
    assert "openai/test at http://127.0.0.1" in str(caught.value)
    assert "ANTHROPIC_API_KEY" in str(caught.value)


def test_missing_credentials_are_a_user_error_if_no_other_model_is_left() -> None:
    with OpenAiServer([by_model(test=401, other=401)]) as server:
        with pytest.raises(InputError, match="environment variable OPENAI_API_KEY"):
            ask(client_at(server, fallbacks=["openai/other"]))
        assert len(server.requests) == 2


def test_a_missing_key_names_its_variable_without_any_network() -> None:
    with pytest.raises(InputError, match="ANTHROPIC_API_KEY"):
        ask(LitellmClient("anthropic/claude-sonnet-4-5", api_base="http://127.0.0.1:9", retries=0))
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        ask(LitellmClient("gpt-4o", retries=0))


def test_an_unknown_model_is_a_user_error() -> None:
    with pytest.raises(InputError, match="unheard-of"):
        ask(LitellmClient("unheard-of"))


def test_costs_add_up_to_the_cent() -> None:
    said = Say("fine", prompt_tokens=1_003, completion_tokens=77)
    with OpenAiServer([said]) as server:
        client = client_at(server, prices=parse_prices(["openai/test=0.7,2.1"]))
        costs = [ask(client).cost_usd for _ in range(30)]
    assert costs[0] == 0.0008638
    assert str(total_usd(cost for cost in costs if cost)) == "0.0259140"


def test_ones_own_server_has_only_the_users_prices() -> None:
    with OpenAiServer(["fine"]) as server:
        client = client_at(server, model="openai/gpt-4o", fallbacks=["gpt-4o", "openai/priced"])
        assert ask(client).cost_usd is None
        assert client.unpriced() == ["openai/gpt-4o", "openai/priced"]
        priced = client_at(
            server, model="openai/gpt-4o", prices=parse_prices(["openai/gpt-4o=1,1"])
        )
    assert priced.unpriced() == []


def test_no_secret_is_sent_told_or_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SERVICE_TOKEN", "tok-another-secret-0987")

    def echo(body: dict[str, Any]) -> Answer:
        assert "secret" not in json.dumps(body)
        return f"your key is {SECRET}"

    shouted = Fail(400, message=f"bad key {SECRET} in sk-abcdefgh12345678")
    with OpenAiServer([echo, shouted]) as server:
        client = client_at(server, retries=0)
        reply = ask(client, f"log: KEY={SECRET} tok-another-secret-0987")
        assert reply.text == "your key is [UNRELATED_API_KEY]"
        with pytest.raises(InputError) as caught:
            ask(client)
        sent = server.requests[0].body["messages"][0]["content"]
    assert sent == "log: KEY=[UNRELATED_API_KEY] [SOME_SERVICE_TOKEN]"
    assert "secret" not in str(caught.value) and "sk-" not in str(caught.value)
    with pytest.raises(WorldError) as lost:
        ask(LitellmClient("openai/x", api_base="http://me:hunter22@127.0.0.1:9/v1", retries=0))
    assert "hunter22" not in str(lost.value)


def test_thirty_two_calls_are_in_flight_at_once() -> None:
    everyone = threading.Barrier(32, timeout=30)

    def together(body: dict[str, Any]) -> Answer:
        everyone.wait()
        return str(body["messages"][0]["content"])

    with OpenAiServer([together]) as server, ThreadPoolExecutor(32) as pool:
        client = client_at(server, retries=0)
        texts = [f"question {number}" for number in range(32)]
        assert [reply.text for reply in pool.map(lambda text: ask(client, text), texts)] == texts
        assert server.most_in_flight == 32
    loops = [thread for thread in threading.enumerate() if thread.name == "rooftree-llm"]
    assert len(loops) == 1


@pytest.mark.parametrize("failure", [Hang(60), Fail(429, retry_after="60")], ids=str)
def test_closing_cancels_calls_in_flight(failure: Answer) -> None:
    arrived = threading.Event()

    def tell(body: dict[str, Any]) -> Answer:
        arrived.set()
        return failure

    with OpenAiServer([tell]) as server, ThreadPoolExecutor(1) as pool:
        client = client_at(server, timeout_s=60, sleep=None)
        waiting = pool.submit(ask, client)
        assert arrived.wait(20)
        client.close()
        with pytest.raises(WorldError, match="closed"):
            waiting.result(20)
        client.close()
        with pytest.raises(WorldError, match="closed"):
            ask(client)


LEAVES = """
import contextlib, sys, threading
from codegen.chat.client import LitellmClient
from mcts.errors import WorldError

client = LitellmClient("openai/x", api_base=sys.argv[1], timeout_s=300)

def ask():
    with contextlib.suppress(WorldError):
        message = {"role": "user", "content": "x"}
        print(client.complete([message], max_tokens=9, temperature=0).text)

ask()
closes = sys.argv[2] == "closes"
threading.Thread(target=ask, daemon=not closes).start()
if closes:
    client.close()
"""


@pytest.mark.parametrize("way", ["closes", "just leaves"])
def test_no_process_waits_for_an_answer_in_flight(way: str) -> None:
    with OpenAiServer(["fine", Hang(300)]) as server:
        done = subprocess.run(
            [sys.executable, "-c", LEAVES, server.url, way],
            capture_output=True,
            text=True,
            timeout=60,
            env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
        )
    assert (done.returncode, done.stdout.strip()) == (0, "fine"), done.stderr
    assert "Traceback" not in done.stderr
