"""A model that runs in this process: found or told, seeded, cut off where its room ends."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from codegen.chat.clients import client_of, in_process
from codegen.chat.in_process import PREFIX, TransformersClient
from codegen.chat.messages import Message, Reply, reply_from
from mcts.errors import InputError, ProposalRejected, WorldError
from mcts.options import ModelOptions

ASKED: list[Message] = [
    {"role": "system", "content": "Choose."},
    {"role": "user", "content": "BLOCK: 1, 2"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder that was initialised at random."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from experiments.training.fitting.config import Decoder
    from experiments.training.fitting.decoder import fresh_model, fresh_tokenizer

    shape = Decoder(layers=1, width=32, heads=2, vocabulary=300, context=128)
    tokenizer = fresh_tokenizer(["BLOCK: 1, 2"], shape)
    place = tmp_path_factory.mktemp("model")
    fresh_model(shape, tokenizer, seed=1).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


def ask(client: Any, **how: Any) -> Any:
    return client.complete(ASKED, **{"max_tokens": 8, "temperature": 1.0, "seed": 3, **how})


def test_a_seed_gives_one_reply_and_counts_its_tokens(folder: Path) -> None:
    client = TransformersClient(f"{PREFIX}{folder}")
    first, again, other = ask(client), ask(client), ask(client, seed=4)
    assert first.text == again.text != other.text
    assert first.completion_tokens == 8 and first.finish_reason == "length"
    assert first.prompt_tokens > 8 and first.cost_usd == 0
    cold = [ask(client, temperature=0, seed=seed).text for seed in (1, 2)]
    assert cold[0] == cold[1]


def test_many_that_ask_at_once_are_answered_as_one_after_the_other(folder: Path) -> None:
    alone = [ask(TransformersClient(f"{PREFIX}{folder}"), seed=seed).text for seed in range(6)]
    clients = [TransformersClient(f"{PREFIX}{folder}") for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda at: ask(clients[at], seed=at).text, range(6)))
    assert together == alone


def test_it_says_how_probable_its_reply_was(folder: Path) -> None:
    assert ask(TransformersClient(f"{PREFIX}{folder}")).logprob is None
    client = TransformersClient(f"{PREFIX}{folder}", probabilities=True)
    reply = ask(client)
    # a random model of 300 tokens finds each of the 8 about as probable as any other
    assert reply.logprob == pytest.approx(-8 * 5.7, rel=0.1)
    kept = reply_from(reply.as_dict())
    assert kept.logprob == reply.logprob and "logprob" not in Reply(text="", model="m").as_dict()


def test_a_reply_ends_where_the_model_has_no_room_left(folder: Path) -> None:
    client = TransformersClient(f"{PREFIX}{folder}")
    reply = ask(client, max_tokens=10_000)
    assert reply.prompt_tokens + reply.completion_tokens <= 128
    with pytest.raises(ProposalRejected, match=r"tokens and .* takes 128 in all"):
        client.complete(
            [{"role": "user", "content": "word " * 200}], max_tokens=1, temperature=1, seed=1
        )


def test_a_reply_that_ended_before_its_limit_has_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = TransformersClient(f"{PREFIX}{folder}")
    ask(client)
    assert client._loaded is not None
    model = client._loaded[0]
    every = list(range(model.config.vocab_size))
    monkeypatch.setattr(model.generation_config, "eos_token_id", every)  # several, not one
    reply = ask(client)
    assert reply.completion_tokens == 1 and reply.finish_reason == "stop"


def test_what_was_given_up_answers_no_more(folder: Path) -> None:
    client = TransformersClient(f"{PREFIX}{folder}")
    client.close()
    client.close()
    with pytest.raises(WorldError, match="given up"):
        ask(client)


def test_a_folder_without_a_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no folder with a model \(config.json\)"):
        ask(TransformersClient(f"{PREFIX}{tmp_path}"))


def test_its_name_says_that_it_runs_here() -> None:
    assert not in_process(ModelOptions(name="openai/x"))
    assert isinstance(client_of(ModelOptions(name="transformers/x")), TransformersClient)
    for more in ({"fallbacks": ("openai/x",)}, {"api_base": "http://localhost:1/v1"}):
        with pytest.raises(InputError, match="runs in this process"):
            client_of(ModelOptions(name="transformers/x", **more))


def test_an_answer_without_its_probability_is_none_where_that_is_wanted(
    folder: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "answers.sqlite"
    for wanted, from_before in ((False, False), (True, False), (True, True), (False, True)):
        client = client_of(
            ModelOptions(name=f"{PREFIX}{folder}", cache=str(kept), model_prior=wanted)
        )
        reply = ask(client)
        client.close()
        assert (reply.logprob is not None) == wanted
        assert reply.cached == from_before
