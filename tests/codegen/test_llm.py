"""The LLM proposer through the real litellm, over real HTTP, against a scripted server."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from codegen.chat import Message
from codegen.litellm_client import LitellmClient, scrub
from codegen.llm import LlmProposer
from codegen.prompting import fence, source_messages, values_messages
from mcts.domain import (
    Axis,
    AxisGap,
    BoundClass,
    Build,
    Candidate,
    Ceilings,
    Evaluation,
    Finding,
    Guidance,
    Hardware,
    Lesson,
    Roofline,
    StateSignature,
    parse_launch_plan,
)
from mcts.errors import InputError, ProposalRejected, WorldError
from mcts.ports import ProposalRequest, Proposer
from mcts.trial import Move
from tests.codegen.cases import SCALE, ask, space_task
from tests.contracts.proposer_contract import ProposerContract
from tests.support.openai_server import Answer, AutoModel, Hang, OpenAiServer, Say, Step

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("litellm") is None, reason="litellm is not installed"
)
SERVER = Path(__file__).parents[1] / "support" / "openai_server.py"
SECRET = "sk-planted-secret-1234567890"
GOOD = (
    "## Analysis\n\nIt waits.\n\n## Plan\n\nAdd: memory.vectorized_loads\n\n## Code\n\n```cuda\n"
    + SCALE.replace("2.0f * x[i]", "x[i] + x[i]")
    + "\n```\n"
)


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_TOKEN")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("UNRELATED_API_KEY", SECRET)


def proposer_at(server: OpenAiServer, *, retries: int = 0, timeout_s: float = 20) -> LlmProposer:
    client = LitellmClient(
        "openai/test",
        api_base=server.url,
        retries=retries,
        timeout_s=timeout_s,
        sleep=lambda seconds: None,
    )
    return LlmProposer("openai/test", client=client)


def run(*steps: Step, request: ProposalRequest | None = None, retries: int = 0) -> Candidate:
    with OpenAiServer(steps) as server:
        return proposer_at(server, retries=retries).propose(request or ask()).candidate


class TestContract(ProposerContract):
    @pytest.fixture
    def proposer(self) -> Iterator[Proposer]:
        with OpenAiServer([GOOD]) as server:
            yield LlmProposer("openai/test", api_base=server.url)

    @pytest.fixture
    def request_(self) -> ProposalRequest:
        return ask()


class TestContractOnValues(ProposerContract):
    @pytest.fixture
    def proposer(self) -> Iterator[Proposer]:
        with OpenAiServer(['```json\n{"T1": 2}\n```']) as server:
            yield LlmProposer("openai/test", api_base=server.url)

    @pytest.fixture
    def request_(self) -> ProposalRequest:
        return ask(space_task())


def test_a_good_reply_becomes_a_candidate_with_its_usage() -> None:
    with OpenAiServer([GOOD]) as server:
        proposer = LlmProposer("openai/test", api_base=server.url, temperature=0.3, max_tokens=99)
        proposal = proposer.propose(ask())
        body = server.requests[0].body
    assert proposer.name == "llm:openai/test"
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("test", 0.3, 99)
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert "x[i] + x[i]" in proposal.candidate.source
    assert proposal.candidate.methods == ("memory.vectorized_loads",)
    usage = dict(proposal.usage)
    assert usage.pop("seconds") > 0 and usage.pop("prompt_tokens") > 500
    assert usage == {"model": "test", "completion_tokens": len(GOOD) // 4, "cost_usd": None}


def test_tokens_that_the_service_did_not_count_are_unknown_not_zero() -> None:
    with OpenAiServer([Say(GOOD, counted=False)]) as server:
        usage = LlmProposer("openai/test", api_base=server.url).propose(ask()).usage
    assert usage["prompt_tokens"] is None and usage["completion_tokens"] is None


def test_a_server_of_ones_own_costs_nothing_known_even_under_a_famous_name() -> None:
    with OpenAiServer([GOOD]) as server:
        proposal = LlmProposer("openai/gpt-4o", api_base=server.url).propose(ask())
    assert proposal.usage["cost_usd"] is None


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("I cannot help with that.", "no CUDA code"),
        ("", "empty"),
        (Say(GOOD, finish_reason="length"), "cut off"),
        (GOOD.replace('"x", "y"', '"x", "nowhere"'), "unknown buffer 'nowhere'"),
    ],
)
def test_an_unusable_reply_is_a_reason_that_still_cost_something(
    answer: Answer, reason: str
) -> None:
    with pytest.raises(ProposalRejected, match=reason) as caught:
        run(answer)
    assert caught.value.usage["prompt_tokens"] > 500


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(status: int) -> None:
    with OpenAiServer([status, GOOD]) as server:
        assert proposer_at(server, retries=1).propose(ask()).candidate.source
        assert len(server.requests) == 2


def test_a_lasting_failure_is_the_world_after_just_the_retries_asked_for() -> None:
    with OpenAiServer([500]) as server, pytest.raises(WorldError, match="in 3 attempts") as caught:
        proposer_at(server, retries=2).propose(ask())
    assert len(server.requests) == 3
    assert "\n" not in str(caught.value)


def test_a_server_that_hangs_is_given_up() -> None:
    with OpenAiServer([Hang(30)]) as server, pytest.raises(WorldError, match="in 1 attempt"):
        proposer_at(server, timeout_s=0.3).propose(ask())


def test_a_server_that_is_not_there_is_the_world() -> None:
    with OpenAiServer([GOOD]) as server:
        url = server.url
    client = LitellmClient("openai/test", api_base=url, retries=0)
    with pytest.raises(WorldError, match="gave no answer"):
        LlmProposer("openai/test", client=client).propose(ask())


def test_refused_credentials_name_the_variable_to_set() -> None:
    with pytest.raises(InputError, match="environment variable OPENAI_API_KEY"):
        run(401, retries=3)


def test_a_missing_key_names_the_variable_without_any_network() -> None:
    client = LitellmClient("anthropic/claude-sonnet-4-5", api_base="http://127.0.0.1:9", retries=0)
    with pytest.raises(InputError, match="ANTHROPIC_API_KEY"):
        LlmProposer("anthropic/claude-sonnet-4-5", client=client).propose(ask())


def test_a_missing_key_is_no_broken_world() -> None:
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        LlmProposer("gpt-4o", retries=0).propose(ask())


def test_a_model_nobody_knows_is_the_users_to_mend() -> None:
    with pytest.raises(InputError, match="unheard-of"):
        LlmProposer("unheard-of").propose(ask())
    with pytest.raises(InputError, match="does not know this model"):
        run(404)


def test_no_secret_of_the_environment_is_sent_or_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other-secret-0987654321")

    def echo(body: dict[str, object]) -> Answer:
        return 400 if SECRET in json.dumps(body) else 500

    with OpenAiServer([echo]) as server, pytest.raises(WorldError) as caught:
        proposer_at(server).propose(ask())
    for seen in server.requests:
        assert "secret" not in json.dumps(seen.body)
    assert "secret" not in str(caught.value)
    assert scrub(f"bad key {SECRET} !\nsecond line") == "bad key [UNRELATED_API_KEY] ! second line"
    assert scrub("Incorrect key sk-abcdef123456789.", {}) == "Incorrect key [key]."
    assert scrub("at http://me:word@host:1/v1", {}) == "at http://host:1/v1"


def test_values_alone_are_asked_for_where_source_cannot_be_judged() -> None:
    with OpenAiServer(['```json\n{"BLOCK": 256}\n```']) as server:
        proposer = LlmProposer("openai/test", api_base=server.url, tunables_only=True)
        candidate = proposer.propose(ask()).candidate
        system = server.requests[0].body["messages"][0]["content"]
    assert candidate.source == SCALE and candidate.tunables["BLOCK"] == 256
    assert "not the code" in system


def test_the_served_script_auto_answers_from_the_prompt() -> None:
    auto = AutoModel()
    kept: list[Candidate] = []
    with OpenAiServer([auto]) as server:
        proposer = LlmProposer("openai/auto", api_base=server.url)
        request = ask()
        for at in range(1, 11):
            if at % 5 == 0:
                with pytest.raises(ProposalRejected, match="no CUDA code"):
                    proposer.propose(request)
            else:
                kept.append(proposer.propose(request).candidate)
                request = ask(parent=kept[-1])
    assert len({candidate.id for candidate in kept}) > 5


def test_the_server_runs_on_a_command_line() -> None:
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, str(SERVER), "--port", "0", "--script", "auto"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        proposer = LlmProposer("openai/auto", api_base=url, tunables_only=True)
        candidate = proposer.propose(ask(space_task())).candidate
        assert sum(map(int, candidate.tunables.values())) > 0
    finally:
        process.kill()
        process.wait()


def _text(messages: list[Message]) -> str:
    return messages[1]["content"]


def test_the_prompt_holds_what_a_person_would_need() -> None:
    parent = Candidate(source=SCALE, tunables={"BLOCK": 256, "VEC": 2, "ITEMS": 1, "HINT": 0})
    finding = Finding(
        tool="narrow_loads",
        axis="memory",
        strength=0.8,
        evidence=(),
        advice="Loads are 32 bits wide.",
        methods=("memory.vectorized_loads",),
    )
    lesson = Lesson(
        state=StateSignature(), method="memory.cache_hints", outcome="improved", gain=1.25
    )
    hardware = Hardware(name="Some GPU", ceilings=Ceilings(copy_gb_per_s=4000))
    request = ask(parent=parent, guidance=Guidance(findings=(finding,)), lessons=(lesson,))
    prompt = _text(source_messages(request, hardware))
    for part in (
        "input `x`: float32 [n]",
        "n = 1048576",
        "1e-06 + 1e-05 * |ref|",
        "measured copy bandwidth 4000 GB/s",
        "BLOCK = 256, VEC = 2",
        "50.00 us",
        "2.000x",
        "Loads are 32 bits wide.",
        "memory.cache_hints: tried 1 times, mean gain 1.25x",
        "`memory.vectorized_loads` (memory)",
        "faster than this one",
    ):
        assert part in prompt, part
    shown = prompt.split("```cuda\n")[1].split("\n```")[0]
    assert parse_launch_plan(shown).space.default() == parent.tunables


def test_a_failure_is_shown_with_its_log_shortened() -> None:
    log = "error: no such thing\n" + "x" * 9000 + "\nthe last line"
    failed = Evaluation(
        candidate_id="candidate-0", status="compile_failed", message="1 error", build=Build(log=log)
    )
    prompt = _text(source_messages(ask(evaluation=failed, move=Move("repair", 2)), None))
    assert "It failed: compile failed." in prompt
    assert "error: no such thing" in prompt and "the last line" in prompt
    assert "characters left out" in prompt
    assert "Repair this variant" in prompt and "2 other variants" in prompt


def test_there_are_always_methods_to_choose_from() -> None:
    axes: tuple[Axis, ...] = get_args(Axis)
    for bound, axis in itertools.product(get_args(BoundClass), axes):
        roofline = Roofline(
            bound=bound,
            confidence=1.0,
            gap=AxisGap(compute=0.5, memory=0.5, latency=0.5),
            near_peak=False,
            method_budget={axis: 2},
        )
        prompt = _text(source_messages(ask(guidance=Guidance(roofline=roofline)), None))
        assert "# Methods to choose from\n\n- `" in prompt, (bound, axis)


def test_untrusted_text_cannot_leave_its_fence() -> None:
    assert fence("a ``` b", "cuda") == "````cuda\na ``` b\n````"


def test_the_values_prompt_lists_every_choice_and_constraint() -> None:
    request = ask()
    prompt = _text(values_messages(request, None, parse_launch_plan(SCALE).space))
    assert "- BLOCK: one of 64, 128, 256, 512 (latency.block_size)" in prompt
    assert "`BLOCK * ITEMS <= 2048`" in prompt


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, codegen.llm; proposer = codegen.llm.LlmProposer('openai/x'); "
        "print(proposer.name, {'litellm', 'numpy'} & set(sys.modules))"
    )
    root = Path(__file__).parents[2]
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(root), "PATH": os.environ["PATH"]},
    )
    assert out.stdout.strip() == "llm:openai/x set()"
