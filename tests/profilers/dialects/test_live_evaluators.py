"""Every dialect has a module that says who judges its candidates."""

from __future__ import annotations

from importlib import import_module

import pytest

from mcts.domain import CUDA, DIALECTS, SPACE, Dialect
from mcts.errors import InputError
from mcts.options import JudgingOptions
from mcts.requests import EvaluatorRequest
from profilers.dialects import live_evaluator
from tests.codegen.cases import scale_task, space_task


@pytest.mark.parametrize("dialect", DIALECTS.values())
def test_every_dialect_has_an_evaluator(dialect: Dialect) -> None:
    assert callable(import_module(f"profilers.dialects.{dialect}").evaluator)


def test_a_recorded_space_cannot_be_measured() -> None:
    task = space_task()
    assert task.dialect is SPACE
    with pytest.raises(InputError, match="can only be replayed"):
        live_evaluator(EvaluatorRequest(task=task))


def test_an_option_that_means_nothing_to_a_dialect_is_refused() -> None:
    task = scale_task()
    assert task.dialect is CUDA
    with pytest.raises(InputError, match="KernelBench problems only"):
        judging = JudgingOptions(baseline="compile")
        live_evaluator(EvaluatorRequest(task=task, judging=judging))
