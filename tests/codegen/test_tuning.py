"""Which values of a measured variant are timed next."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from codegen import tuning
from codegen.dialects import writing_of
from codegen.llm import LlmProposer
from mcts.domain import Candidate, KernelTask
from mcts.options import ModelOptions
from mcts.ports import Attempt
from tests.codegen.cases import problem_task, scale_task
from tests.support.evaluations import measured
from tests.support.scripted_client import ScriptedClient

MODEL = """import torch
BLOCK = 64  # tunable: 32, 64, 128, 256, 512
VEC = 1  # tunable: 1, 2, 4
STAGES = 2  # tunable: 2, 3, 4


class ModelNew(torch.nn.Module):
    pass
"""


def speedup_of(candidate: Candidate, task: KernelTask) -> float:
    """Best at BLOCK = 256, VEC = 4 and three stages."""
    space = writing_of(task.dialect).space_of(candidate, task)
    values = {**space.default(), **candidate.tunables}
    block, vec, stages = (int(values.get(name, 3)) for name in ("BLOCK", "VEC", "STAGES"))
    return 4.0 / (1 + abs(math.log2(block / 256)) / 4 + abs(math.log2(vec / 4)) / 4
                  + abs(stages - 3) / 8)  # fmt: skip


def judged(candidate: Candidate, task: KernelTask) -> Attempt:
    return Attempt(candidate=candidate, evaluation=measured(speedup_of(candidate, task)))


def tuned(task: KernelTask, first: Candidate, *, best: float = 0.0, most: int = 60) -> list[float]:
    """The speedups of what was timed, in order."""
    found = [judged(first, task)]
    for seed in range(most):
        more = tuning.retuned(task, found, best_speedup=best, seed=seed)
        if more is None:
            break
        found.append(judged(more, task))
    ids = [one.candidate.id for one in found if one.candidate]
    assert len(set(ids)) == len(ids)
    return [one.evaluation.speedup or 0 for one in found if one.evaluation]


def test_the_best_of_45_combinations_is_found_in_a_third_of_them_and_then_it_ends() -> None:
    task = problem_task()
    speedups = tuned(task, Candidate(source=MODEL))
    assert max(speedups) == 4.0
    assert speedups.index(4.0) < 15
    assert len(speedups) < 45, "it ends before all were timed"


def test_values_keep_to_the_constraints_of_a_launch_plan() -> None:
    task = scale_task()
    first = task.baseline
    found = [judged(first, task)]
    for seed in range(12):
        more = tuning.retuned(task, found, best_speedup=0.0, seed=seed)
        if more is None:
            break
        assert more.source == first.source
        values = more.tunables
        assert int(values["BLOCK"]) * int(values["ITEMS"]) <= 2048
        assert "with " in more.rationale
        found.append(judged(more, task))
    assert len(found) > 5


def test_the_first_looks_differ_in_as_many_tunables_as_can_be() -> None:
    task = problem_task()
    first = Candidate(source=MODEL)
    more = tuning.retuned(task, [judged(first, task)], best_speedup=0.0, seed=1)
    assert more is not None
    lines = zip(first.source.splitlines(), more.source.splitlines(), strict=True)
    assert sum(one != other for one, other in lines) == 3


def test_nothing_is_timed_of_a_variant_that_is_far_behind_has_no_values_or_failed() -> None:
    task = problem_task()
    first = Candidate(source=MODEL)
    assert tuned(task, first, best=100.0) == [speedup_of(first, task)]
    assert len(tuned(task, Candidate(source="import torch\n"))) == 1
    failed = Attempt(candidate=first, evaluation=None)
    assert tuning.retuned(task, [failed], best_speedup=0.0, seed=0) is None
    broken = Candidate(source=MODEL + "X = 1  # tunable: 1, (\n")
    known = Attempt(candidate=broken, evaluation=measured(2.0))
    assert tuning.retuned(task, [known], best_speedup=0.0, seed=0) is None


def test_a_variant_without_effect_of_its_values_is_left_after_a_few() -> None:
    task = problem_task()
    found = [Attempt(candidate=Candidate(source=MODEL), evaluation=measured(2.0))]
    for seed in itertools.count():
        more = tuning.retuned(task, found, best_speedup=2.0, seed=seed)
        if more is None or len(found) == 45:
            break
        found.append(Attempt(candidate=more, evaluation=measured(2.0)))
    assert len(found) < 10


def test_a_proposer_names_up_to_tune_of_them() -> None:
    task, first = problem_task(), Candidate(source=MODEL)
    proposer = LlmProposer(ModelOptions(name="openai/test", tune=3), client=ScriptedClient([]))
    assert proposer.can_tune
    found = [judged(first, task)]
    while (more := proposer.retuned(task, found, best_speedup=0.0, seed=len(found))) is not None:
        found.append(judged(more, task))
    assert len(found) == 4
    plain = LlmProposer(ModelOptions(name="openai/test"), client=ScriptedClient([]))
    assert not plain.can_tune


def test_a_proposer_names_no_more_once_timing_them_has_taken_long() -> None:
    task, first = problem_task(), Candidate(source=MODEL)

    def named(most_s: float | None, took_s: float) -> int:
        options = ModelOptions(name="openai/test", tune=3, tune_seconds=most_s)
        proposer = LlmProposer(options, client=ScriptedClient([]))
        found = [replace(judged(first, task), seconds=1000.0)]
        while (
            more := proposer.retuned(task, found, best_speedup=0.0, seed=len(found))
        ) is not None:
            found.append(replace(judged(more, task), seconds=took_s))
        return len(found) - 1

    assert named(None, 50.0) == 3
    assert named(10.0, 4.0) == 3, "it goes on while less was spent, whatever the variant took"
    assert named(10.0, 5.0) == 2
    assert named(10.0, 50.0) == 1
