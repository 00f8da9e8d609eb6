"""A recording of a part of a space narrows the task to what can be answered."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from codegen.scripted.proposer import ScriptedProposer
from experiments.runs.tasks.files import find_task
from mcts.domain import Guidance, KernelTask, declared_space
from mcts.errors import NoMoves, NotRecorded
from mcts.ports import ProposalRequest
from mcts.search.trial import Move
from profilers.recordings.recording import Recording
from profilers.recordings.replay import ReplayEvaluator, restricted_to_recorded
from profilers.recordings.t4 import load_recording


@cache
def softmax() -> tuple[KernelTask, Recording]:
    source = find_task("row_softmax")
    return source.task, load_recording(source.recordings[-1])


def part_of(recording: Recording, task: KernelTask, *, size: int) -> Recording:
    """The baseline and an arbitrary choice of the other configurations."""
    base = recording.baseline_record()
    others = [one for one in recording.configurations if one.key != base.key]
    chosen = random.Random(0).sample(others, size - 1)
    return replace(recording, configurations=(base, *chosen))


def test_the_scripted_proposer_asks_for_nothing_that_was_not_recorded() -> None:
    task, whole = softmax()
    judge = ReplayEvaluator(task, part_of(whole, task, size=30))
    proposer = ScriptedProposer()
    tried = {task.baseline.id}
    evaluation = judge.evaluate(task.baseline)
    for seed in range(29):
        request = ProposalRequest(
            task=judge.task, parent=task.baseline, evaluation=evaluation, guidance=Guidance(),
            move=Move("optimize", 0), tried=frozenset(tried), seed=seed,
        )  # fmt: skip
        candidate = proposer.propose(request).candidate
        judge.evaluate(candidate)
        tried.add(candidate.id)
    with pytest.raises(NoMoves):
        proposer.propose(replace(request, tried=frozenset(tried)))


def test_it_is_the_same_task_with_fewer_combinations() -> None:
    task, whole = softmax()
    few = restricted_to_recorded(task, part_of(whole, task, size=30))
    assert few.id == task.id
    assert len(few.space.rows) == 30
    assert few.space.rows != task.space.rows
    assert declared_space(few, task.baseline.source) == few.space
    assert restricted_to_recorded(few, whole) is few


def test_rows_stand_in_natural_order_however_they_were_recorded() -> None:
    task, whole = softmax()
    backwards = replace(whole, configurations=tuple(reversed(whole.configurations)))
    assert (
        restricted_to_recorded(task, backwards).space.rows
        == restricted_to_recorded(task, whole).space.rows
    )


def test_other_source_has_the_space_that_it_declares() -> None:
    task, whole = softmax()
    few = restricted_to_recorded(task, part_of(whole, task, size=30))
    assert not declared_space(few, find_task("transpose").task.baseline.source).rows


def test_a_recording_of_other_tunables_narrows_nothing() -> None:
    task, _ = softmax()
    other = load_recording(find_task("transpose").recordings[-1])
    assert restricted_to_recorded(task, other) is task


def test_an_unrecorded_configuration_is_still_refused() -> None:
    task, whole = softmax()
    judge = ReplayEvaluator(task, part_of(whole, task, size=2))
    held = {one.key for one in part_of(whole, task, size=2).configurations}
    absent = next(one for one in whole.configurations if one.key not in held)
    with pytest.raises(NotRecorded):
        judge.evaluate(task.baseline.model_copy(update={"tunables": absent.configuration}))
