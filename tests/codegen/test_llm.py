"""The LLM proposer: what it asks, what it makes of the answers, and what that cost."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from codegen.chat.messages import Reply
from codegen.llm import LlmProposer
from mcts.domain import Candidate, Guidance, Hardware, Profile
from mcts.errors import (
    AnswerPending,
    InputError,
    JournalError,
    NoMoves,
    NotRecorded,
    ProposalRejected,
    RooftreeError,
    Suspended,
    WorldError,
)
from mcts.journal.spending import spent_on_reply
from mcts.options import ModelOptions
from mcts.ports import PendingTrial, Proposal, ProposalRequest, Proposer
from mcts.search.trial import Move
from mcts.testing.proposers import ProposerContract
from tests.codegen.cases import (
    DEFAULTS,
    FASTER,
    GOOD,
    MODEL_NEW,
    SCALE,
    ask,
    failed,
    problem_task,
    space_task,
)
from tests.support.openai_server import AutoModel, OpenAiServer, Say
from tests.support.prompt_ids import prompt_id
from tests.support.scripted_client import Asked, ScriptedClient, Step

needs_litellm = pytest.mark.skipif(
    importlib.util.find_spec("litellm") is None, reason="litellm is not installed"
)
ROOT = Path(__file__).parents[2]
SERVER = ROOT / "tests" / "support" / "openai_server.py"
MODEL_REPLY = f"## Plan\n\nFuse: memory.fused_passes\n\n## Code\n\n```python\n{MODEL_NEW}\n```\n"


def script(*answers: Step) -> ScriptedClient:
    return ScriptedClient(answers)


def propose(
    client: ScriptedClient,
    request: ProposalRequest | None = None,
    *,
    tunables_only: bool = False,
    hardware: Hardware | None = None,
    **settings: Any,
) -> Proposal:
    options = ModelOptions(name="openai/test", **settings)
    proposer = LlmProposer(options, client=client, tunables_only=tunables_only, hardware=hardware)
    return proposer.propose(request or ask())


@needs_litellm
class TestContract(ProposerContract):
    @pytest.fixture
    def proposer(self) -> Iterator[Proposer]:
        with OpenAiServer([GOOD]) as server:
            yield LlmProposer(ModelOptions(name="openai/test", api_base=server.url))

    @pytest.fixture
    def request_(self) -> ProposalRequest:
        return ask()


class TestContractOnValues(ProposerContract):
    @pytest.fixture
    def proposer(self) -> Proposer:
        return LlmProposer(
            ModelOptions(name="openai/test"), client=script('```json\n{"T1": 2}\n```')
        )

    @pytest.fixture
    def request_(self) -> ProposalRequest:
        return ask(space_task())


class TestContractOnModels(ProposerContract):
    @pytest.fixture
    def proposer(self) -> Proposer:
        return LlmProposer(ModelOptions(name="openai/test", branches=3), client=script(MODEL_REPLY))

    @pytest.fixture
    def request_(self) -> ProposalRequest:
        return ask(problem_task())


@needs_litellm
def test_a_good_reply_becomes_a_candidate_with_its_usage() -> None:
    with OpenAiServer([GOOD]) as server:
        proposer = LlmProposer(
            ModelOptions(name="openai/test", api_base=server.url, temperature=0.3, reply_tokens=99)
        )
        proposal = proposer.propose(ask())
        body = server.requests[0].body
    assert proposer.name == "llm:openai/test"
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("test", 0.3, 99)
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert "x[i] + x[i]" in proposal.candidate.source
    assert proposal.candidate.methods == ("memory.vectorized_loads",)
    assert proposal.branches == ()
    usage = dict(proposal.usage)
    assert usage.pop("seconds") > 0 and usage.pop("prompt_tokens") > 500
    assert usage == {
        "prompt": prompt_id("optimize"),
        "dropped": {},
        "model": "test",
        "completion_tokens": len(GOOD) // 4,
        "cost_usd": None,
        "replies": 1,
        "attempts": 1,
    }


@needs_litellm
def test_tokens_that_the_service_did_not_count_are_unknown_not_zero() -> None:
    with OpenAiServer([Say(GOOD, counted=False)]) as server:
        usage = (
            LlmProposer(ModelOptions(name="openai/test", api_base=server.url)).propose(ask()).usage
        )
    assert usage["prompt_tokens"] is None and usage["completion_tokens"] is None


def test_a_first_implementation_is_asked_for_and_journalled_as_such() -> None:
    client = script(MODEL_REPLY)
    proposal = propose(client, ask(problem_task(), seed=77))
    assert proposal.usage["prompt"] == prompt_id("implement") and client.asked[0].seed == 77
    assert "class Model(nn.Module)" in client.asked[0].messages[1]["content"]
    assert proposal.candidate.source == MODEL_NEW


@pytest.mark.parametrize(
    ("move", "prompt"),
    [(Move("improve", 1), prompt_id("optimize")), (Move("diversify", 2), prompt_id("diversify"))],
)
def test_the_move_decides_the_role(move: Move, prompt: str) -> None:
    assert propose(script(GOOD), ask(move=move)).usage["prompt"] == prompt


def test_a_failed_parent_is_repaired() -> None:
    request = ask(evaluation=failed("compile_failed"), move=Move("repair", 0))
    client = script(GOOD)
    assert propose(client, request).usage["prompt"] == prompt_id("repair")
    assert 'identifier "quad" is undefined' in client.asked[0].messages[1]["content"]


class TestUnusableReplies:
    def test_the_model_is_told_why_and_asked_again(self) -> None:
        client = script("<think>hm</think>I cannot.", GOOD)
        proposal = propose(client)
        assert "x[i] + x[i]" in proposal.candidate.source
        again = client.asked[1].messages
        assert [message["role"] for message in again] == ["system", "user", "assistant", "user"]
        assert again[:2] == client.asked[0].messages and again[2]["content"] == "I cannot."
        assert "no CUDA code" in again[3]["content"]
        assert proposal.usage["replies"] == 2 and proposal.usage["cost_usd"] == 0.02
        assert proposal.usage["prompt_tokens"] == 200

    @pytest.mark.parametrize(("repairs", "asked"), [(0, 1), (1, 2), (3, 4)])
    def test_no_more_often_than_configured(self, repairs: int, asked: int) -> None:
        client = script("No.")
        with pytest.raises(ProposalRejected, match="no CUDA code") as caught:
            propose(client, reply_repairs=repairs)
        assert len(client.asked) == asked
        assert caught.value.usage["replies"] == asked
        assert caught.value.usage["cost_usd"] == pytest.approx(0.01 * asked, abs=0)

    def test_a_reply_that_was_cut_off_is_not_repeated_to_the_model(self) -> None:
        cut = Reply(text=GOOD[:-200], model="test", finish_reason="length")
        client = script(cut, GOOD)
        assert propose(client).usage["cost_usd"] is None
        assert GOOD[:50] not in client.asked[1].messages[2]["content"]
        assert "Be brief" in client.asked[1].messages[3]["content"]

    def test_costs_that_one_call_did_not_tell_are_unknown(self) -> None:
        usage = propose(script(Reply(text="No.", model="test", cost_usd=0.1), GOOD)).usage
        assert usage["prompt_tokens"] is None and usage["cost_usd"] == 0.11

    @pytest.mark.parametrize(
        ("error", "raised", "said"),
        [
            (
                WorldError("the server is gone"),
                ProposalRejected,
                "no CUDA code.*no better reply could be had",
            ),
            (InputError("no key"), InputError, "no key"),
        ],
        ids=["world", "user"],
    )
    def test_what_was_paid_is_kept_if_the_second_call_fails(
        self, error: RooftreeError, raised: type[RooftreeError], said: str
    ) -> None:
        with pytest.raises(raised, match=said) as caught:
            propose(script("No.", error))
        assert caught.value.usage["cost_usd"] == 0.01 and caught.value.usage["replies"] == 1

    @pytest.mark.parametrize("error", [WorldError("gone"), InputError("no key")])
    def test_an_error_before_any_reply_is_no_rejection(self, error: RooftreeError) -> None:
        with pytest.raises(type(error)):
            propose(script(error))

    def test_a_journal_that_cannot_be_written_stops_everything(self) -> None:
        with pytest.raises(JournalError):
            propose(script("No.", JournalError("the disk is full")))

    def test_a_prompt_that_the_service_refuses_costs_what_was_paid_before(self) -> None:
        with pytest.raises(ProposalRejected, match="too long") as caught:
            propose(script(ProposalRejected("too long")))
        assert caught.value.usage == {}


def test_replies_from_the_cache_cost_nothing() -> None:
    bought = Reply(text=GOOD, model="m", asked="openai/m", prompt_tokens=5, cost_usd=0.25)
    usage = propose(script(bought.from_before())).usage
    assert (usage["cost_usd"], usage["prompt_tokens"], usage["cached"]) == (0.0, 0, True)
    assert usage["original_cost_usd"] == 0.25 and usage["attempts"] == 0


def test_replies_of_several_models_are_priced_each_by_its_own() -> None:
    def says(text: str, model: str, cost: float | None = None) -> Reply:
        return Reply(text=text, model=model, asked=f"openai/{model}", prompt_tokens=1_000_000,
                     completion_tokens=100_000, cost_usd=cost)  # fmt: skip

    replies = says("No.", "big"), says("No.", "known", 0.25), says(GOOD, "small")
    usage = json.loads(json.dumps(propose(script(*replies), reply_repairs=2).usage))
    assert usage["cost_usd"] is None and usage["model"] == "small"
    assert [one["model"] for one in usage["unpriced"]] == ["big", "small"]
    assert usage["priced_usd"] == 0.25 and usage["models"] == ["big", "known", "small"]

    def later(*prices: str) -> float | None:
        return LlmProposer(ModelOptions(name="m", prices=prices), client=script(GOOD)).price(usage)

    assert later("small=1,1") is None and later("openai/big=3,10") is None
    assert later("openai/big=3,10", "small=0.1,0.2") == 4.37


def test_of_several_replies_those_that_counted_their_tokens_are_counted() -> None:
    silent = Reply(text="No.", model="m", prompt_tokens=7, cost_usd=0.1)
    counted = Reply(text="No.", model="m", prompt_tokens=100, completion_tokens=10, cost_usd=0.1)
    usage = propose(script(counted, silent, GOOD), reply_repairs=2).usage
    assert usage["prompt_tokens"] == 207 and usage["completion_tokens"] is None
    assert (usage["counted_tokens"], usage["uncounted"]) == (227, 1)
    spent = spent_on_reply(usage)
    assert (spent.tokens, spent.replies, spent.uncounted) == (227, 3, 1)
    assert "uncounted" not in propose(script(counted, GOOD)).usage


def test_dropped_parts_are_journalled() -> None:
    usage = propose(script(GOOD), prompt_tokens=6_000).usage
    assert usage["dropped"]["method"] > 0


class TestBranches:
    LISTED = f'{GOOD}\n## Branches\n\n[{{"BLOCK": 256}}, {{"BLOCK": 999}}, {{"ITEMS": 8}}]\n'

    def test_listed_values_come_first_and_neighbours_fill_up(self) -> None:
        client = script(self.LISTED)
        proposal = propose(client, branches=4)
        values = [branch.tunables for branch in proposal.branches]
        assert values[:2] == [{**DEFAULTS, "BLOCK": 256}, {**DEFAULTS, "ITEMS": 8}]
        assert len({branch.id for branch in proposal.branches} | {proposal.candidate.id}) == 4
        for branch in proposal.branches:
            assert branch.source == proposal.candidate.source
            assert branch.methods == proposal.candidate.methods
        assert proposal.branches[0].rationale.endswith("with BLOCK = 256")
        assert "up to 3 other combinations" in client.asked[0].messages[0]["content"]

    def test_the_same_request_gives_the_same_branches(self) -> None:
        first, again = (propose(script(GOOD), branches=5) for _ in range(2))
        assert first.branches == again.branches
        assert propose(script(GOOD), ask(seed=5), branches=5).branches != first.branches

    def test_what_was_tried_is_no_branch(self) -> None:
        tried = Candidate(source=FASTER + "\n", tunables={**DEFAULTS, "BLOCK": 256})
        proposal = propose(script(self.LISTED), ask(tried=frozenset({tried.id})), branches=2)
        assert [branch.tunables for branch in proposal.branches] == [{**DEFAULTS, "ITEMS": 8}]

    def test_constants_of_a_python_file_are_branched_in_the_file(self) -> None:
        listed = f'{MODEL_REPLY}\n## Branches\n\n[{{"BLOCK": 512}}]\n'
        proposal = propose(script(listed), ask(problem_task()), branches=4)
        sources = [branch.source for branch in proposal.branches]
        assert len(sources) == 2, "there are but two other values"
        assert sources[0] == MODEL_NEW.replace("BLOCK = 256  #", "BLOCK = 512  #")
        assert "BLOCK = 128  # tunable: 128, 256, 512" in sources[1]
        assert proposal.branches[0].id != proposal.candidate.id

    def test_without_tunables_there_is_nothing_to_branch(self) -> None:
        plain = MODEL_REPLY.replace("  # tunable: 128, 256, 512", "")
        assert propose(script(plain), ask(problem_task()), branches=4).branches == ()


@needs_litellm
def test_only_values_are_asked_for_if_source_cannot_be_judged() -> None:
    with OpenAiServer(['```json\n{"BLOCK": 256}\n```']) as server:
        proposer = LlmProposer(
            ModelOptions(name="openai/test", api_base=server.url), tunables_only=True
        )
        proposal = proposer.propose(ask())
        system = server.requests[0].body["messages"][0]["content"]
    assert proposal.candidate.source == SCALE and proposal.candidate.tunables["BLOCK"] == 256
    assert proposal.usage["prompt"] == prompt_id("optimize", "_values")
    assert "not the code" in system


def test_values_that_a_recording_does_not_hold_are_no_mistake_of_the_reply() -> None:
    request = ask()
    space = request.task.dialect.space_of(SCALE)
    assert space is not None
    row = tuple(space.default()[name] for name in space.tunables)
    task = request.task.model_copy(update={"space": space.model_copy(update={"rows": (row,)})})
    client = script('```json\n{"BLOCK": 256}\n```')
    with pytest.raises(NotRecorded, match="holds no measurement of BLOCK = 256") as caught:
        propose(client, replace(request, task=task), tunables_only=True)
    assert caught.value.usage["replies"] == 1, "it is paid for, and not asked again"


def test_a_kernel_without_tunables_leaves_no_values_to_choose() -> None:
    bare = SCALE.split("[tunables]")[0] + "[[launch]]" + SCALE.split("[[launch]]")[1]
    source = bare.replace('where = ["n % VEC == 0", "BLOCK * ITEMS <= 2048"]', "")
    with pytest.raises(NoMoves):
        propose(script(GOOD), ask(parent=Candidate(source=source)), tunables_only=True)


def test_closing_closes_the_client() -> None:
    client = script()
    LlmProposer(ModelOptions(name="openai/test"), client=client).close()
    assert client.closed


def test_the_served_script_auto_answers_from_the_prompt() -> None:
    auto = AutoModel()

    def answer(asked: Asked) -> str:
        said = auto({"messages": list(asked.messages)})
        assert isinstance(said, str)
        return said

    kept: list[Candidate] = []
    proposer = LlmProposer(ModelOptions(name="openai/auto", reply_repairs=0), client=script(answer))
    request = ask()
    for at in range(1, 11):
        if at % 5 == 0:
            with pytest.raises(ProposalRejected, match="no CUDA code"):
                proposer.propose(request)
        else:
            kept.append(proposer.propose(request).candidate)
            request = ask(parent=kept[-1])
    assert len({candidate.id for candidate in kept}) > 5


@needs_litellm
def test_the_server_runs_on_a_command_line() -> None:
    process = subprocess.Popen(
        [sys.executable, str(SERVER), "--port", "0", "--script", "auto"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        proposer = LlmProposer(ModelOptions(name="openai/auto", api_base=url), tunables_only=True)
        candidate = proposer.propose(ask(space_task())).candidate
        assert sum(map(int, candidate.tunables.values())) > 0
    finally:
        process.kill()
        process.wait()


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, codegen.llm, mcts.options\n"
        "proposer = codegen.llm.LlmProposer(mcts.options.ModelOptions(name='openai/x'))\n"
        "print(proposer.name, {'litellm', 'numpy'} & set(sys.modules))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
    )
    assert out.stdout.strip() == "llm:openai/x set()"


def test_a_method_is_taken_out_for_attribution() -> None:
    parent = Candidate(source=SCALE, methods=("memory.vectorized_loads", "latency.block_size"))
    request = ask(parent=parent)
    with OpenAiServer([GOOD]) as server:
        proposer = LlmProposer(ModelOptions(name="openai/test", api_base=server.url))
        proposal = proposer.without(request, "memory.vectorized_loads")
        (seen,) = server.requests
    assert proposal.candidate.methods == ("latency.block_size",)
    assert proposal.usage["prompt"] == prompt_id("remove")
    assert "without it" in seen.body["messages"][-1]["content"]
    assert proposer.can_ablate


def test_a_method_cannot_be_taken_out_if_only_values_may_change() -> None:
    with OpenAiServer([GOOD]) as server:
        proposer = LlmProposer(
            ModelOptions(name="openai/test", api_base=server.url), tunables_only=True
        )
        with pytest.raises(NoMoves):
            proposer.without(ask(), "memory.vectorized_loads")
        assert server.requests == []


PLAN = "1. Wider loads: float4. Evidence: 4 sectors. Ceiling: 1.5x, DRAM.\n2. Fewer blocks.\n"


def roles_asked(client: ScriptedClient) -> list[str]:
    """Which role each question was for, by its order."""
    orders = {"Plan the next step": "plan", "Look the proposal over": "review"}
    told = [asked.messages[1]["content"].rpartition("# Now")[2].strip() for asked in client.asked]
    return [next((orders[o] for o in orders if text.startswith(o)), "code") for text in told]


def test_a_planner_is_asked_first_and_its_first_direction_taken() -> None:
    client = script(PLAN, GOOD)
    found = propose(client, roles="planner")
    assert roles_asked(client) == ["plan", "code"]
    written = client.asked[1].messages[1]["content"]
    assert "2. Fewer blocks." in written and "Take number 1." in written
    assert found.usage["replies"] == 2 and found.usage["cost_usd"] == 0.02
    assert found.usage["prompt"] == prompt_id("optimize") + "+plan/1"


def test_trials_from_one_parent_ask_a_planner_the_same() -> None:
    client = script(PLAN, GOOD, PLAN, GOOD)
    first = ask(seed=1)
    beside = PendingTrial(parent=first.parent, move=first.move, choice=1)
    for request in (first, replace(first, seed=2, pending=(beside,))):
        propose(client, request, roles="planner")
    one, _, other, written = client.asked
    assert (one.messages, one.seed) == (other.messages, other.seed)
    assert "Take number 2." in written.messages[1]["content"]


def test_what_a_planner_cannot_say_is_done_without() -> None:
    for answer in ("<think>hm", ProposalRejected("the service refuses this prompt")):
        client = script(answer, GOOD)
        assert propose(client, roles="planner").candidate.source.strip() == FASTER.strip()
        assert "# The plan" not in client.asked[1].messages[1]["content"]


def test_repairs_and_values_are_not_planned() -> None:
    client = script(GOOD)
    propose(client, ask(evaluation=failed("wrong_result"), move=Move("repair", 0)), roles="planner")
    assert roles_asked(client) == ["code"]
    client = script('## Values\n\n```json\n{"BLOCK": 128}\n```\n')
    propose(client, roles="planner+critic", tunables_only=True)
    assert len(client.asked) == 1


def test_a_critic_mends_what_was_written_and_leaves_its_claims() -> None:
    patch = (
        "## Analysis\n\nOff by one.\n\n## Code\n\n"
        "<<<<<<< SEARCH\n{line}\n=======\n{line} // mended\n>>>>>>> REPLACE\n"
    )
    line = next(text for text in FASTER.splitlines() if "for (" in text)
    client = script(GOOD, patch.replace("{line}", line))
    found = propose(client, roles="critic")
    assert roles_asked(client) == ["code", "review"]
    assert line in client.asked[1].messages[1]["content"]
    assert "// mended" in found.candidate.source
    assert found.candidate.methods == ("memory.vectorized_loads",)
    assert found.usage["prompt"] == prompt_id("optimize") + "+review/1"
    assert found.usage["replies"] == 2


@pytest.mark.parametrize("said", ["Keep.", "", ProposalRejected("the service refuses this")])
def test_where_a_critic_changes_nothing_the_proposal_stays(said: Any) -> None:
    client = script(GOOD, said)
    assert propose(client, roles="critic").candidate.source.strip() == FASTER.strip()


def test_a_critic_that_goes_back_to_the_parent_is_not_heard() -> None:
    client = script(GOOD, f"## Plan\n\nBack.\n\n## Code\n\n```cuda\n{SCALE}\n```\n")
    assert propose(client, roles="critic").candidate.source.strip() == FASTER.strip()


@pytest.mark.parametrize("kind", [AnswerPending, Suspended, JournalError])
@pytest.mark.parametrize("before", [(), (PLAN,), (PLAN, GOOD)])
def test_what_only_waits_is_no_verdict(kind: type[RooftreeError], before: tuple[str, ...]) -> None:
    """Neither a failure, nor done without: the run asks again when it goes on."""
    with pytest.raises(kind):
        propose(script(*before, kind("later")), roles="planner+critic")


def test_a_proposal_that_is_too_long_to_be_reviewed_stays() -> None:
    """From the baseline a prompt that is too long is the task's fault, but not a critic's."""
    padded = FASTER + "// " + "x" * 60_000
    client = script(GOOD.replace(FASTER, padded))
    found = propose(client, roles="critic", prompt_tokens=9_000)
    assert len(client.asked) == 1 and found.candidate.source.strip() == padded.strip()


@pytest.mark.parametrize("kind", [InputError, WorldError])
def test_what_was_paid_before_a_critic_does_not_answer_is_not_lost(
    kind: type[InputError | WorldError],
) -> None:
    client = script(PLAN, GOOD, kind("no answer"))
    with pytest.raises(kind) as raised:
        propose(client, roles="planner+critic")
    assert raised.value.usage["cost_usd"] == 0.02


class Tools:
    """Two tools; remembers which were run."""

    tools: ClassVar = {"bank_conflicts": "Lanes queue for a bank.", "coalescing": "Sectors wasted."}

    def __init__(self) -> None:
        self.ran: list[str] = []

    def run(self, names: Iterable[str], *_: object) -> Guidance:
        self.ran = list(names)
        return Guidance(notes=(f"looked with {', '.join(self.ran)}",))


def choose(
    client: ScriptedClient, request: ProposalRequest | None = None
) -> tuple[Proposal, Tools]:
    tools = Tools()
    options = ModelOptions(name="openai/test", feedback="chosen")
    proposer = LlmProposer(options, client=client, tools=tools)
    guided = Guidance(notes=("what all tools say",))
    asked = request or ask(guidance=guided, profile=Profile(hardware=Hardware(name="gpu")))
    return proposer.propose(asked), tools


def test_a_model_may_name_the_tools_that_look() -> None:
    client = script("- `coalescing`\n- occupancy\n", GOOD)
    found, tools = choose(client)
    asked, written = (each.messages[1]["content"] for each in client.asked)
    assert "- `bank_conflicts`: Lanes queue for a bank." in asked
    assert "what all tools say" not in asked, "the choice is made blind"
    assert tools.ran == ["coalescing"]
    assert "looked with coalescing" in written and "what all tools say" not in written
    assert found.usage["replies"] == 2 and found.usage["cost_usd"] == 0.02
    assert found.usage["prompt"] == prompt_id("optimize") + "+choose/1"


@pytest.mark.parametrize("said", ["None of them.", ProposalRejected("the service refuses this")])
def test_without_a_choice_all_tools_are_heard(said: Any) -> None:
    client = script(said, GOOD)
    _, tools = choose(client)
    assert tools.ran == []
    assert "what all tools say" in client.asked[1].messages[1]["content"]


def test_where_nothing_was_profiled_there_is_nothing_to_choose() -> None:
    client = script(GOOD)
    choose(client, ask())
    assert len(client.asked) == 1


def test_another_way_is_not_planned() -> None:
    for move in (Move("diversify", 0), Move("improve", 0, far=True)):
        client = script(GOOD)
        propose(client, ask(move=move), roles="planner")
        assert roles_asked(client) == ["code"]


def test_the_prior_is_how_much_likelier_than_chance_the_model_found_its_values() -> None:
    task = space_task(tunables=2, values=4)

    def prior(logprob: float | None, **settings: Any) -> float:
        client = script(Reply(text='{"T0": 3}', model="m", logprob=logprob))
        options = ModelOptions(name="transformers/x", **settings)
        return LlmProposer(options, client=client).propose(ask(task)).prior

    chance = -math.log(task.space.size)
    assert prior(chance, model_prior=True) == pytest.approx(0.5)
    assert prior(chance + math.log(3), model_prior=True) == pytest.approx(0.75)
    assert prior(0.0, model_prior=True) == pytest.approx(16 / 17)
    assert prior(-1e9, model_prior=True) == 0.05
    assert prior(None, model_prior=True) == prior(0.0) == 0.5


def test_a_prior_needs_a_model_whose_probabilities_are_known() -> None:
    with pytest.raises(InputError, match="--model-prior needs the probabilities"):
        propose(script(GOOD), model_prior=True)
