"""Values named behind a measurement: timed in the same trial, journalled, and not asked again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mcts.domain import Candidate, Evaluation, KernelTask
from mcts.journal.record import read_result
from mcts.ports import Attempt, Proposal, ProposalRequest
from mcts.testing.toy import Killed, MemoryJournal, ToyEvaluator, ToyProposer, toy_time_us
from tests.mcts.journal.paid import optimizer, variant

BLOCKS = (1, 4, 16, 32)


def with_block(candidate: Candidate, block: int) -> Candidate:
    return variant(**{k: int(v) for k, v in candidate.tunables.items()} | {"BLOCK": block})


class Tuner(ToyProposer):
    """Names the same variant with every other block size."""

    name = "tuner"
    can_tune = True

    def __init__(self) -> None:
        super().__init__(inline=False)
        self.asked: list[int] = []

    def retuned(
        self, task: KernelTask, judged: Sequence[Attempt], *, best_speedup: float, seed: int
    ) -> Candidate | None:
        self.asked.append(seed)
        first = judged[0].candidate
        assert first is not None
        timed = {one.candidate.tunables["BLOCK"] for one in judged if one.candidate}
        left = [block for block in BLOCKS if block not in timed]
        return with_block(first, left[0]) if left else None


def tree(journal: MemoryJournal, **options: Any) -> str:
    return optimizer(journal, Tuner(), ToyEvaluator(), evaluations=6, **options).run().tree_digest


def test_the_best_of_what_was_named_becomes_the_node_of_its_trial() -> None:
    journal, toy = MemoryJournal(), ToyEvaluator()
    result = optimizer(journal, Tuner(), toy, evaluations=6).run()
    assert result.evaluations == 6 and len(toy.calls) == result.unique + 1 > 7
    best = result.best
    assert best.candidate is not None
    others = [toy_time_us(with_block(best.candidate, block).tunables) for block in BLOCKS]
    mine = toy_time_us(best.candidate.tunables)
    assert mine is not None and all(time is None or mine <= time * 1.01 for time in others)
    tuned = [event.payload for event in journal.events() if event.kind == "tuned"]
    assert {one["trial"] for one in tuned} == set(range(1, 7))
    named = {one["candidate"]["tunables"]["BLOCK"] for one in tuned if one["candidate"]}
    assert named <= set(BLOCKS)
    shown = read_result(journal.events()).nodes[best.id]
    assert shown.candidate == best.candidate


@settings(max_examples=30, deadline=None)
@given(kills=st.lists(st.integers(0, 60), min_size=1, max_size=4), parallel=st.sampled_from([1, 3]))
def test_a_run_killed_while_it_tunes_and_resumed_equals_an_uninterrupted_one(
    kills: list[int], parallel: int
) -> None:
    expected = tree(MemoryJournal(), parallel=parallel)
    journal = MemoryJournal()
    for kill_after in kills:
        journal = MemoryJournal(tuple(journal.events()), kill_after=kill_after)
        try:
            tree(journal, parallel=parallel)
        except Killed:
            continue
        break
    journal = MemoryJournal(tuple(journal.events()))
    assert tree(journal, parallel=parallel) == expected
    keys = [event.payload["key"] for event in journal.events() if event.kind == "tuned"]
    assert len(keys) == len(set(keys))


def test_it_is_told_what_the_journal_says_that_measuring_took() -> None:
    class Curious(Tuner):
        def __init__(self) -> None:
            super().__init__()
            self.seconds: dict[str, float] = {}

        def retuned(self, task: KernelTask, judged: Sequence[Attempt], **asked: Any) -> Any:
            self.seconds |= {one.candidate.id: one.seconds for one in judged if one.candidate}
            return super().retuned(task, judged, **asked)

    class Slow(ToyEvaluator):
        def evaluate(self, candidate: Candidate) -> Evaluation:
            time.sleep(0.002)
            return super().evaluate(candidate)

    journal, curious = MemoryJournal(), Curious()
    optimizer(journal, curious, Slow(), evaluations=2).run()
    took = {
        event.payload["candidate_id"]: event.payload["seconds"]
        for event in journal.events()
        if event.kind == "measured"
    }
    assert len(curious.seconds) > 3 and min(curious.seconds.values()) >= 0.002
    assert curious.seconds == {id: took[id] for id in curious.seconds}


def test_a_proposer_that_cannot_is_not_asked() -> None:
    class Idle(Tuner):
        can_tune = False

    proposer, journal = Idle(), MemoryJournal()
    optimizer(journal, proposer, ToyEvaluator(), evaluations=3).run()
    assert not proposer.asked and "tuned" not in {event.kind for event in journal.events()}


def test_what_was_named_before_is_not_timed_twice() -> None:
    class Stuck(Tuner):
        def propose(self, request: ProposalRequest) -> Proposal:
            return Proposal(candidate=variant(BLOCK=4))

        def retuned(self, task: KernelTask, judged: Sequence[Attempt], **_: Any) -> Candidate:
            return variant(BLOCK=4)

    journal = MemoryJournal()
    assert optimizer(journal, Stuck(), ToyEvaluator(), evaluations=1).run().unique == 1
