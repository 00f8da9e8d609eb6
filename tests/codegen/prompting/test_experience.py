"""What other runs taught: as weights of moves, and as a section of a prompt."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from codegen.prompting.experience import MOST_SHOWN, experience_section
from codegen.scripted.proposer import ScriptedProposer
from mcts.domain import StateSignature
from mcts.knowledge.base import Knowledge
from mcts.knowledge.contribution import Contribution
from mcts.ports import ProposalRequest
from tests.codegen.cases import DEFAULTS, ask

HERE = StateSignature()


def known(**gains: float) -> Knowledge:
    """By method, without its axis, a gain that eight tasks have seen twice."""
    contributions = [
        Contribution(
            run=f"r{n}{again}", node=node, task=f"t{n}", gpu="G", proposer="p", state=HERE,
            method=method.replace("__", "."), outcome="improved", gain=gain,
        )
        for node, (method, gain) in enumerate(gains.items())
        for n in range(8)
        for again in range(2)
    ]  # fmt: skip
    return Knowledge.of(contributions)


def told(knowledge: Knowledge, seed: int = 0) -> ProposalRequest:
    return replace(ask(seed=seed), experience=tuple(knowledge.expect(HERE).values()))


def moved(knowledge: Knowledge) -> Counter[str]:
    proposer, counts = ScriptedProposer(), Counter[str]()
    for seed in range(400):
        after = proposer.propose(told(knowledge, seed)).candidate.tunables
        counts.update(name for name, value in after.items() if DEFAULTS[name] != value)
    return counts


def test_moves_turn_to_what_helped_elsewhere() -> None:
    taught = known(memory__cache_hints=1.9, latency__work_per_thread=0.6)
    plain, warm = moved(Knowledge()), moved(taught)
    assert warm["HINT"] > 1.2 * plain["HINT"]
    assert 0 < warm["ITEMS"] < 0.8 * plain["ITEMS"]


def test_without_experience_a_prompt_says_nothing_of_it() -> None:
    assert experience_section(ask()).text == ""


def test_a_prompt_says_what_to_expect_and_on_what_grounds() -> None:
    text = experience_section(told(known(memory__cache_hints=1.5))).text
    assert "`memory.cache_hints`: expect 1.4" in text
    assert "tried 16 times on 8 tasks, the closest in this very state, 16 faster" in text


def test_shown_experience_varies_with_the_seed_and_ends_with_the_worst() -> None:
    gains = {f"memory__m{n}": 0.8 + n / 20 for n in range(14)}
    taught = known(**gains, memory__bad=0.3)
    shown = [experience_section(told(taught, seed)) for seed in range(10)]
    assert all(len(section.parts) == MOST_SHOWN for section in shown)
    assert len({section.text for section in shown}) > 3
    assert sum("`memory.bad`" in section.parts[-1].text for section in shown) >= 8
    assert shown[3] == experience_section(told(taught, 3))
