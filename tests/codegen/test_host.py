"""Host candidates: what a model is told of them, and how its replies are read."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest

from codegen.llm import LlmProposer
from mcts.domain import (
    Build,
    Candidate,
    Evaluation,
    Hardware,
    KernelTask,
    Workload,
    parse_host_plan,
)
from mcts.errors import ProposalRejected
from mcts.options import ModelOptions
from mcts.ports import Proposal, ProposalRequest
from mcts.search.trial import Move
from tests.codegen.cases import ask
from tests.support.host_sources import PROBLEM, source
from tests.support.prompt_ids import prompt_id
from tests.support.scripted_client import ScriptedClient
from tests.support.shelf import Shelf, blocks

SOURCE = source()
LOG = (
    "include/cute/layout.hpp(120): error: static assertion failed: \"shapes differ\"\n"
    "  while it was made for the candidate, line 41: auto tiled = make_tiled_copy(atom, a, b);"
)  # fmt: skip


def host_task() -> KernelTask:
    return KernelTask(
        name="columns",
        dialect="host",
        baseline=Candidate(source=PROBLEM),
        reference=PROBLEM,
        workloads=(Workload(name="main", shape={}),),
    )


def reply(code: str = SOURCE) -> str:
    return (
        "## Analysis\n\nSmall.\n\n## Plan\n\nOne kernel: memory.fused_passes\n\n"
        f"## Code\n\n```cuda\n{code}\n```\n"
    )


def propose(text: str, request: ProposalRequest | None = None, **settings: Any) -> Proposal:
    client = ScriptedClient([text])
    proposer = LlmProposer(
        ModelOptions(name="openai/x", reply_repairs=0, **settings), client=client
    )
    return proposer.propose(request or ask(host_task()))


def test_the_contracts_own_example_is_a_variant() -> None:
    contract = files("codegen.dialects.host").joinpath("contract.md").read_text()
    (example,) = re.findall(r"^```cuda\n(.*?)^```", contract, re.MULTILINE | re.DOTALL)
    plan = parse_host_plan(example)
    assert plan.launcher == "scale_rows" and plan.space.default() == {"BLOCK": 256}
    assert propose(reply(example)).candidate.tunables == {"BLOCK": 256}


def test_a_first_implementation_is_asked_for_and_read() -> None:
    client = ScriptedClient([reply()])
    hopper = Hardware(name="NVIDIA H200", compute_capability="9.0")
    proposal = LlmProposer(ModelOptions(name="openai/x"), client=client, hardware=hopper).propose(
        ask(host_task())
    )
    system, user = (message["content"] for message in client.asked[0].messages)
    assert "nvcc as C++17" in system and "the plan's comment first" in system
    assert "class Model(nn.Module)" in user and "which tile and schedule" in user
    assert "ModelNew" not in user.partition("# Now")[2]
    assert proposal.usage["prompt"] == prompt_id("implement", "_host")
    assert proposal.candidate.source.strip() == SOURCE.strip()
    assert proposal.candidate.tunables == {"UNROLL": 1, "SCHEDULE": "plain"}
    assert proposal.candidate.methods == ("memory.fused_passes",)


def test_a_small_change_of_the_parent_is_applied_and_its_values_are_kept() -> None:
    parent = Candidate(source=SOURCE, tunables={"UNROLL": 2, "SCHEDULE": "plain"})
    change = (
        "## Plan\n\nFaster.\n\n## Code\n\n```\n<<<<<<< SEARCH\n  return 0;\n=======\n"
        "  return 0 * n;\n>>>>>>> REPLACE\n```\n"
    )
    found = propose(change, ask(host_task(), parent=parent)).candidate
    assert "return 0 * n;" in found.source


def test_a_compilers_condensed_log_reaches_the_repair_as_it_is() -> None:
    parent = Candidate(source=SOURCE, tunables={"UNROLL": 1, "SCHEDULE": "plain"})
    failed = Evaluation(
        candidate_id=parent.id, status="compile_failed", message="m", build=Build(log=LOG)
    )
    client = ScriptedClient([reply(SOURCE.replace("return 0;", "return 0 * n;"))])
    request = ask(host_task(), parent=parent, evaluation=failed, move=Move("repair", 0))
    proposal = LlmProposer(ModelOptions(name="openai/x"), client=client).propose(request)
    user = client.asked[0].messages[1]["content"]
    assert f"# How it failed\n\nIt failed: it does not compile.\n\n```\n{LOG}\n```" in user
    assert proposal.usage["prompt"] == prompt_id("repair")


def test_it_is_written_after_looking_things_up() -> None:
    client = ScriptedClient([blocks(("search", {"query": "tma"})), reply()])
    proposer = LlmProposer(ModelOptions(name="openai/x"), client=client, library=Shelf())
    assert len(proposer.propose(ask(host_task())).usage["lookups"]) == 1


def test_branches_move_the_plans_own_tunables() -> None:
    branches = propose(reply(), branches=3).branches
    assert branches and all(branch.source == SOURCE.strip() + "\n" or branch.source.strip() ==
                            SOURCE.strip() for branch in branches)  # fmt: skip
    assert len({tuple(branch.tunables.items()) for branch in branches}) == len(branches)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("I cannot.", "no block with a /\\* rooftree"),
        (reply("int main() {}"), "no block with a /\\* rooftree"),
        (reply(SOURCE.replace('launcher = "scale"', 'launcher = "absent"')), "names 'absent'"),
        (reply(SOURCE.replace('"stream"]', "]")), "plan cannot be used.*stream"),
        (reply(SOURCE.replace('extern "C"', "")), 'must be declared extern "C"'),
        (reply(SOURCE + "// " + "x" * 300_000), "larger than 256 KB"),
    ],
    ids=["prose", "no plan", "no launcher", "no stream", "no extern", "too large"],
)
def test_an_unusable_reply_says_why(text: str, why: str) -> None:
    with pytest.raises(ProposalRejected, match=why):
        propose(text)
