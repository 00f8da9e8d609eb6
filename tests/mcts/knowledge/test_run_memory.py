"""Search memory: what was measured teaches, what failed as a parent does not."""

from __future__ import annotations

import pytest

from mcts.domain import Candidate, Evaluation, StateSignature
from mcts.knowledge.run_memory import RunMemory
from mcts.testing.toy import SPACE, ToyEvaluator

FAST = Candidate(tunables={**SPACE.default(), "BLOCK": 4}, methods=("toy.block", "toy.tile"))
FAILING = Candidate(tunables=dict.fromkeys(SPACE.tunables, 32), methods=("toy.block",))
SLOW = Candidate(tunables=SPACE.default(), methods=("toy.block",))


def measured(candidate: Candidate) -> Evaluation:
    return ToyEvaluator().evaluate(candidate)


@pytest.mark.parametrize(
    ("parent", "child", "outcome"),
    [
        (SLOW, FAST, "improved"),
        (FAST, SLOW, "regressed"),
        (SLOW, SLOW, "neutral"),
        (SLOW, FAILING, "failed"),
    ],
)
def test_each_claimed_method_gets_a_lesson(
    parent: Candidate, child: Candidate, outcome: str
) -> None:
    lessons = RunMemory(noise=0.01).record(
        state=StateSignature(), parent=measured(parent), candidate=child, evaluation=measured(child)
    )
    assert [lesson.method for lesson in lessons] == list(child.methods)
    assert {lesson.outcome for lesson in lessons} == {outcome}


def test_a_failed_parent_teaches_nothing_even_if_it_has_a_time() -> None:
    memory = RunMemory(noise=0.01)
    suspect = Evaluation(
        candidate_id=SLOW.id,
        status="suspect",
        message="events and host clock disagree",
        timing=measured(SLOW).timing,
    )
    for parent in (suspect, measured(FAILING)):
        assert not memory.record(
            state=StateSignature(), parent=parent, candidate=FAST, evaluation=measured(FAST)
        )
    assert memory.recall(StateSignature()) == ()


def test_lessons_of_the_same_state_come_first_and_the_latest_before_the_rest() -> None:
    memory = RunMemory(noise=0.01)
    here, there = StateSignature(bound="memory"), StateSignature(bound="compute")
    for state, child in ((here, FAILING), (there, SLOW), (here, FAST)):
        memory.record(
            state=state, parent=measured(SLOW), candidate=child, evaluation=measured(child)
        )
    outcomes = [lesson.outcome for lesson in memory.recall(here)]
    assert outcomes == ["improved", "improved", "failed", "neutral"]
    assert len(memory.recall(here, limit=2)) == 2


def test_with_its_origin_a_candidate_teaches_what_it_applied_and_what_it_took_back() -> None:
    memory = RunMemory(noise=0.01)
    block = SPACE.tunables["BLOCK"].model_copy(update={"methods": ("toy.block",)})
    space = SPACE.model_copy(update={"tunables": {**SPACE.tunables, "BLOCK": block}})
    task = ToyEvaluator().task.model_copy(update={"space": space})
    for origin, child in ((SLOW, FAST), (FAST, SLOW)):
        memory.record(
            state=StateSignature(), parent=measured(origin), candidate=child,
            evaluation=measured(child), origin=origin, task=task,
        )  # fmt: skip
    told = {lesson.undone: lesson.outcome for lesson in memory.recall(StateSignature())}
    assert told == {False: "improved", True: "regressed"}
