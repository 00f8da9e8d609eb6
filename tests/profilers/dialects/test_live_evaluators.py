"""Every dialect has a module that says who judges its candidates."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from experiments.runs.tasks.problems import problem_task
from mcts.domain import CUDA, DIALECTS, SPACE, Dialect, Policy
from mcts.errors import InputError
from mcts.options import JudgingOptions
from mcts.requests import EvaluatorRequest
from profilers.dialects import host, live_evaluator
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


def test_include_folders_reach_the_compilers_of_both_kinds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: dict[str, Any] = {}
    monkeypatch.setattr(host, "HostEvaluator", lambda task, **more: made.update(more))
    text = "class Model: pass\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"
    task = problem_task(text, Path("p.py"), Policy())
    judging = JudgingOptions(includes=(tmp_path,))
    live_evaluator(EvaluatorRequest(task=task, judging=judging), readable=[Path("codegen")])
    assert made["host"].includes == (tmp_path,)
    assert made["settings"].includes == (tmp_path,)
    assert made["settings"].readable == (Path("codegen"), tmp_path)
