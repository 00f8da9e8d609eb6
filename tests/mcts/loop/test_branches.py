"""Branch and select: the best branch becomes the node, the rest can be restarted from."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts.domain import Candidate, Evaluation
from mcts.domain.objective import Ranking
from mcts.errors import NoMoves, NotRecorded, WorldError
from mcts.loop.branches import Branch, Frontier, candidates_of, select
from mcts.ports import Proposal, ProposalRequest
from mcts.search.puct import PuctSettings
from mcts.testing.toy import (
    Killed,
    MemoryJournal,
    ToyEvaluator,
    ToyProposer,
)
from tests.mcts.journal.paid import PaidToy, optimizer, variant
from tests.mcts.loop.finals import EnergyToy
from tests.support.evaluations import measured

RANKING = Ranking(noise=0.01)


def timed(candidate: Candidate) -> Evaluation:
    return ToyEvaluator().evaluate(candidate)


def of_speedup(speedup: float) -> Evaluation:
    return measured(speedup, spread=0.001)


def test_the_fastest_beyond_the_noise_wins_and_a_tie_goes_to_the_proposal_itself() -> None:
    failed = timed(variant(BLOCK=32, TILE=32, UNROLL=32))
    assert select({0: of_speedup(2.0), 1: of_speedup(3.0), 2: of_speedup(2.5)}, RANKING) == 1
    assert select({0: of_speedup(2.0), 1: of_speedup(2.015)}, RANKING) == 0
    assert select({0: of_speedup(2.0), 1: of_speedup(2.025)}, RANKING) == 1
    assert select({0: failed, 1: failed, 2: of_speedup(0.5)}, RANKING) == 2
    assert select({0: failed, 1: failed}, RANKING) is None
    assert select({1: of_speedup(1.0)}, RANKING) == 1


def test_under_the_objective_energy_the_least_energy_among_the_fastest_wins() -> None:
    ranking, toy = Ranking(objective="energy", noise=0.5), EnergyToy()
    candidates = [variant(TILE=8, UNROLL=4), variant(TILE=16, UNROLL=4)]
    found = {
        at: toy.measure_energy(candidate, toy.evaluate(candidate))
        for at, candidate in enumerate(candidates)
    }
    assert select(found, ranking) == 1


class OneIdea(ToyProposer):
    """Always the same proposal with its branches, then nothing."""

    name = "one idea"

    def __init__(self, *candidates: Candidate) -> None:
        super().__init__(inline=False)
        self.candidates = candidates
        self.count = 0

    def propose(self, request: ProposalRequest) -> Proposal:
        self.count += 1
        if self.count > 1:
            return super().propose(request)
        return Proposal(candidate=self.candidates[0], branches=self.candidates[1:])


BAD = variant(BLOCK=32, TILE=32, UNROLL=32)
GOOD, BEST = variant(BLOCK=4, UNROLL=2), variant(BLOCK=4, UNROLL=4)


def test_the_winner_is_the_node_and_all_that_were_evaluated_count_as_unique() -> None:
    journal, toy = MemoryJournal(), ToyEvaluator()
    result = optimizer(journal, OneIdea(GOOD, BAD, BEST, GOOD), toy, evaluations=1).run()
    assert result.nodes[1].candidate == BEST and result.evaluations == 1
    assert set(result.nodes[1].branches) == {GOOD.id, BAD.id}
    assert len(toy.calls) == 4 == result.unique + 1
    (branched,) = [e.payload for e in journal.events() if e.kind == "branched"]
    assert branched == {"trial": 1, "winner": BEST.id, "losers": [GOOD.id], "failed": [BAD.id]}
    profiled = [e.payload["candidate_id"] for e in journal.events() if e.kind == "profiled"]
    assert GOOD.id not in profiled


def test_a_branch_stands_in_for_a_proposal_that_fails() -> None:
    result = optimizer(MemoryJournal(), OneIdea(BAD, GOOD), evaluations=1).run()
    assert result.nodes[1].kind == "measured" and result.nodes[1].candidate == GOOD
    alone = optimizer(MemoryJournal(), OneIdea(BAD, BAD), evaluations=1).run()
    assert alone.nodes[1].kind == "failed" and alone.nodes[1].candidate == BAD


class Partial(ToyEvaluator):
    """A recording that lacks what is in `lacks`."""

    def __init__(self, *lacks: Candidate) -> None:
        super().__init__()
        self.lacks = {candidate.id for candidate in lacks}

    def evaluate(self, candidate: Candidate) -> Evaluation:
        if candidate.id in self.lacks:
            raise NotRecorded("the recording lacks it")
        return super().evaluate(candidate)


def test_a_candidate_without_a_recording_loses_to_one_with_it() -> None:
    result = optimizer(MemoryJournal(), OneIdea(GOOD, BEST), Partial(BEST), evaluations=1).run()
    assert result.nodes[1].candidate == GOOD and result.unique == 1
    result = optimizer(MemoryJournal(), OneIdea(BEST, GOOD), Partial(BEST), evaluations=1).run()
    assert result.nodes[1].candidate == GOOD
    both = Partial(BEST, GOOD)
    result = optimizer(MemoryJournal(), OneIdea(BEST, GOOD), both, evaluations=1).run()
    assert result.nodes[1].kind == "rejected" and "lacks it" in result.nodes[1].reason


def test_a_world_that_breaks_for_a_branch_keeps_what_was_measured() -> None:
    journal, toy = MemoryJournal(), ToyEvaluator(fail_world_at=frozenset({3}))
    result = optimizer(journal, OneIdea(GOOD, BEST), toy, evaluations=1).run()
    assert result.evaluations == 1 and result.nodes[1].id == 2
    assert toy.calls.count(GOOD.id) == 1


def test_a_frontier_gives_its_best_first_and_each_once() -> None:
    frontier = Frontier()

    def speed(evaluation: Evaluation) -> float:
        return evaluation.speedup or 0.0

    branches = [
        Branch(parent=0, candidate=candidate, evaluation=timed(candidate), prior=0.5)
        for candidate in (variant(BLOCK=2), BEST, GOOD, variant(UNROLL=32))
    ]
    frontier.keep(3, branches, parent=timed(variant()), reward=speed)
    taken = []
    while branch := frontier.take(3, RANKING, known={variant(BLOCK=2).id: 9}):
        taken.append(branch.candidate)
    assert taken == [BEST, GOOD], "the slower than the parent and the known are left out"
    assert frontier.take(4, RANKING, known={}) is None
    frontier.keep(3, branches, parent=None, reward=speed)
    assert frontier.take(3, RANKING, known={}) == branches[1]
    frontier.pass_on(3, 7)
    assert frontier.take(3, RANKING, known={}) is None
    assert frontier.take(7, RANKING, known={}) == branches[2]


def restarts(journal: MemoryJournal) -> list[dict[str, Any]]:
    return [dict(event.payload) for event in journal.events() if event.kind == "restarted"]


def test_a_stagnating_node_restarts_from_a_loser_without_asking_or_measuring() -> None:
    class OnlyWorse(OneIdea):
        """After its one idea: steps to slower variants than any seen."""

        def propose(self, request: ProposalRequest) -> Proposal:
            if self.count == 0:
                return super().propose(request)
            self.count += 1
            slower = variant(UNROLL=16, TILE=1 if self.count % 2 else 2, BLOCK=1)
            return Proposal(
                candidate=slower.model_copy(update={"source": f"attempt {self.count}"}),
                usage={"cost_usd": 1.0},
            )

    journal, toy = MemoryJournal(), ToyEvaluator()
    constants = PuctSettings(stagnation=1, mean_after=0)
    search = optimizer(
        journal, OnlyWorse(GOOD, BEST), toy, evaluations=60, search_settings=constants
    )
    result = search.run()
    (event,) = restarts(journal)
    node = next(node for node in result.nodes if node.id == event["trial"])
    moves = {e.payload["trial"]: e.payload for e in journal.events() if e.kind == "asked"}
    assert moves[node.id - 1]["kind"] == "diversify" and moves[node.id - 1]["parent"] == 1
    assert node.parent == 0 and node.candidate == GOOD and node.kind == "measured"
    assert node.restarted and node.usage == {} and node.id not in moves
    assert result.evaluations == 60 == len(result.nodes) - 2 and node.visits > 1
    assert toy.calls.count(GOOD.id) == 1 and result.unique + 1 == len(toy.calls)


def test_every_restart_was_a_loser_and_is_no_duplicate() -> None:
    journal, toy = MemoryJournal(), ToyEvaluator()
    result = optimizer(journal, PaidToy(branches=3), toy, evaluations=120).run()
    losers = {id for e in journal.events() if e.kind == "branched" for id in e.payload["losers"]}
    nodes = {node.id: node for node in result.nodes}
    assert restarts(journal), "this seed comes to it"
    for event in restarts(journal):
        assert event["candidate_id"] in losers
        assert nodes[event["trial"]].duplicate_of is None
    assert len(toy.calls) == len(set(toy.calls)) == result.unique + 1


def test_a_proposer_with_nothing_left_restarts_from_a_loser() -> None:
    class Once(OneIdea):
        def propose(self, request: ProposalRequest) -> Proposal:
            if self.count:
                raise NoMoves("that was all")
            return super().propose(request)

    journal = MemoryJournal()
    result = optimizer(journal, Once(GOOD, BEST), evaluations=9).run()
    assert [node.candidate for node in result.nodes[1:]] == [BEST, GOOD]
    assert result.stop_reason == "nothing left to try" and len(restarts(journal)) == 1


@settings(max_examples=40, deadline=None)
@given(
    kills=st.lists(st.integers(0, 120), min_size=1, max_size=5),
    parallel=st.sampled_from([1, 3]),
    inline=st.booleans(),
    seed=st.integers(0, 50),
)
def test_killed_anywhere_between_branches_it_ends_with_the_same_tree(
    kills: list[int], parallel: int, inline: bool, seed: int
) -> None:
    def build(journal: MemoryJournal) -> Any:
        toy = PaidToy(inline=inline, branches=3, rejects=7, breaks=23)
        return optimizer(journal, toy, evaluations=40, seed=seed, parallel=parallel)

    expected = build(MemoryJournal()).run()
    journal = MemoryJournal()
    for kill_after in kills:
        journal = MemoryJournal(tuple(journal.events()), kill_after=kill_after)
        try:
            build(journal).run()
        except Killed:
            continue
    journal = MemoryJournal(tuple(journal.events()))
    result = build(journal).run()
    assert result.tree_digest == expected.tree_digest and result.best == expected.best
    assert result.unique == expected.unique and result.spending.cost == expected.spending.cost
    for kind, key in (("measured", "candidate_id"), ("proposed", "trial"), ("restarted", "trial")):
        seen = Counter(e.payload[key] for e in journal.events() if e.kind == kind)
        assert max(seen.values(), default=1) == 1


def test_a_proposals_candidates_are_each_named_once() -> None:
    proposal = Proposal(candidate=GOOD, branches=(BEST, GOOD, BEST))
    assert list(candidates_of(proposal)) == [GOOD.id, BEST.id]


def test_a_world_that_stays_broken_ends_a_run_with_branches_too() -> None:
    toy = ToyEvaluator(fail_world_at=frozenset(range(2, 99)))
    with pytest.raises(WorldError, match="fallen off"):
        optimizer(MemoryJournal(), PaidToy(branches=2), toy).run()
