"""A model or a server that is not to be had: said at once where that is known, and with the way on
that leads somewhere.
"""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from click.testing import Result

from experiments.runs.options.option_conflicts import check_model
from mcts.errors import InputError
from mcts.options import ModelOptions
from tests.support import formula_gpu
from tests.support.commands import failed, optimize, optimized, refused, rooftree
from tests.support.needs import needs_litellm
from tests.support.openai_server import Fail, OpenAiServer

pytestmark = needs_litellm


def refused_at_once(done: Result, out: Path, *parts: str) -> None:
    refused(done, *parts)
    assert not out.exists()


@pytest.mark.parametrize(
    "address",
    ["localhost:9/v1", "notaurl", "", "ftp://host/v1", "http://", "http:///v1", "http://:80/v1",
     "http://host:port/v1", "http://host:99999/v1", "http://[::1/v1", "http://ho st/v1",
     "me:word@host/v1"],
)  # fmt: skip
def test_an_invalid_address_is_refused_at_once(
    toy_folder: Path, tmp_path: Path, address: str
) -> None:
    out = tmp_path / "run"
    done = optimize(toy_folder, out, "--model", "openai/x", "--api-base", address)
    refused_at_once(done, out, "--api-base: write it as http://HOST:PORT/v1")
    assert "word" not in done.stderr, "a login must not be repeated"


@pytest.mark.parametrize(
    "address", ["http://localhost:9/v1", "https://host", "http://[::1]:80/v1", "HTTP://10.0.0.1:1"]
)
def test_a_valid_address_is_accepted(address: str) -> None:
    check_model("llm", ModelOptions(name="openai/x", api_base=address))


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("--model", "nosuchmodelatall"), ("--model nosuchmodelatall: litellm knows no such",)),
        (("--model", "gpt4o"), ("did you mean gpt-4o?",)),
        (("--model", "anthropc/some-model"), ("did you mean anthropic/some-model?",)),
        (("--model", "nix/y"), ("write PROVIDER/MODEL",)),
        (("--model", "openai/x", "--fallback", "nix/y"), ("--fallback nix/y",)),
        (("--model", "plain", "--api-base", "http://127.0.0.1:9/v1"), ("openai/MODEL",)),
    ],
)
def test_a_model_without_a_provider_is_refused_before_anything_is_measured(
    toy_folder: Path, tmp_path: Path, words: tuple[str, ...], parts: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def measure(*_: object, **__: object) -> None:
        raise AssertionError("an evaluator was built")

    monkeypatch.setattr("experiments.runs.wiring.composing.build_evaluator", measure)
    refused_at_once(optimize(toy_folder, tmp_path / "run", *words), tmp_path / "run", *parts)


def test_only_a_model_without_a_provider_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    from codegen.chat.models import unknown_models

    models = ("openai/never-heard-of", "openrouter/some/model", "github_copilot/x", "gpt-4o")
    assert unknown_models((*models, "nosuchmodelatall")) == ["nosuchmodelatall"]


def test_a_run_without_a_model_does_not_import_litellm(
    toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def imported() -> None:
        raise InputError("litellm was imported")

    monkeypatch.setattr("codegen.chat.models.load_litellm", imported)
    optimized(toy_folder, tmp_path / "run", "--evaluations", 2)


def test_a_tape_may_be_of_any_model(toy_folder: Path, tmp_path: Path) -> None:
    tape = tmp_path / "tape"
    tape.write_text("")
    done = optimize(toy_folder, tmp_path / "run", "--model", "nix", "--llm-replay", tape)
    assert "litellm knows no such" not in done.stderr


@pytest.mark.parametrize(
    ("answer", "way"),
    [
        (Fail(404, message="no such model"), "start a new run with another --model or --api-base"),
        (Fail(400, message="bad request"), "start a new run with another --model or --api-base"),
        (Fail(401, message="bad key"), "mend that, then resume with: rooftree resume"),
        (Fail(402, message="no money"), "mend that, then resume with: rooftree resume"),
    ],
    ids=lambda value: str(getattr(value, "status", "")),
)
def test_a_servers_refusal_says_what_to_do(
    toy_folder: Path, tmp_path: Path, answer: Fail, way: str
) -> None:
    with OpenAiServer([answer]) as server:
        words = ("--model", "openai/x", "--api-base", server.url, "--llm-retries", 0)
        done = optimize(toy_folder, tmp_path / "run", *words)
        failed(done, way)
        error = done.stderr.splitlines()[-1]
        assert ("resume" in error) == ("resume" in way)
        again = rooftree("resume", tmp_path / "run").stderr.splitlines()[-1]
    assert way in again


def test_a_fallback_that_lacks_a_key_can_still_be_resumed(toy_folder: Path, tmp_path: Path) -> None:
    with OpenAiServer([Fail(404, message="no"), Fail(401, message="bad key")]) as server:
        words = ("--model", "openai/x", "--fallback", "openai/y", "--api-base", server.url)
        done = optimize(toy_folder, tmp_path / "run", *words, "--llm-retries", 0)
    assert "then resume with: rooftree resume" in done.stderr


def test_a_silent_server_says_how_to_resume(toy_folder: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        words = ("--api-base", f"http://127.0.0.1:{free.getsockname()[1]}/v1", "--llm-retries", 0)
        run = tmp_path / "run"
        done = optimize(toy_folder, run, "--model", "openai/x", *words)
    assert done.exit_code == 2, done.output
    assert f"resume with: rooftree resume {run} (another --api-base needs a new run)" in done.stderr


def test_a_model_without_its_key_is_refused_before_anything_is_made(
    toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    out = tmp_path / "run"
    done = rooftree(
        "optimize", toy_folder, "--evaluator", "replay", "--model", "openai/x", "--out", out
    )
    assert done.exit_code == 2 and "OPENAI_API_KEY is not set" in done.output
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--model", "transformers/nowhere"), "nowhere is no folder with a model"),
        (("--model", "openai/x", "--model-prior"), "needs --model transformers/DIR"),
        (("--model", "transformers/x", "--fallback", "openai/y"), "no --fallback goes with it"),
    ],
)
def test_a_model_in_this_process_is_looked_for_before_anything_is_measured(
    toy_folder: Path, tmp_path: Path, words: tuple[str, ...], part: str
) -> None:
    out = tmp_path / "run"
    refused_at_once(optimize(toy_folder, out, *words), out, part)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--prompt-form", "brief"), "--prompt-form brief is for values of a recorded kernel"),
        (("--tune-seconds", "5"), "--tune-seconds needs --tune N"),
    ],
)
def test_options_without_effect_are_refused(
    toy_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    part: str,
) -> None:
    formula_gpu.install(monkeypatch)
    out = tmp_path / "run"
    done = rooftree(
        "optimize", toy_folder, "--evaluator", "formula-gpu", "-o", out, "--memory", "off",
        "--model", "openai/x", *words,
    )  # fmt: skip
    refused_at_once(done, out, part)


def test_a_model_that_files_answer_for_needs_their_folder(tmp_path: Path) -> None:
    done = optimize("transpose", tmp_path / "run", "--model", "queue/strong")
    failed(done, "queue/strong is answered by files", "--llm-queue DIR")
