"""The registry of dialects: names as strings, facts on the object, a source's own dialect."""

from __future__ import annotations

import copy
import pickle

import pytest
from pydantic import ValidationError

from mcts.domain import (
    CUDA,
    DIALECTS,
    HOST,
    KERNELBENCH,
    SPACE,
    Candidate,
    Dialect,
    KernelTask,
    Workload,
    dialect_named,
)


def task_of(dialect: str) -> KernelTask:
    return KernelTask(
        name="t",
        dialect=dialect,
        baseline=Candidate(source="ModelNew = Model"),
        reference="",
        workloads=(Workload(name="main", shape={}),),
    )


@pytest.mark.parametrize("dialect", DIALECTS.values())
def test_a_dialect_is_the_string_of_its_name(dialect: Dialect) -> None:
    assert dialect_named(str(dialect)) is dialect
    assert pickle.loads(pickle.dumps(dialect)) == dialect == copy.deepcopy(dialect)
    assert f"{dialect}" in DIALECTS


@pytest.mark.parametrize("dialect", DIALECTS.values())
def test_forms_of_a_dialect_are_dialects_and_the_last_takes_any_source(dialect: Dialect) -> None:
    assert set(dialect.forms) <= set(DIALECTS)
    if dialect.forms:
        assert dialect in dialect.forms and DIALECTS[dialect.forms[-1]].recognises("anything")


def test_a_task_is_written_down_with_the_name_and_read_with_the_object() -> None:
    task = task_of("host")
    assert type(task.model_dump()["dialect"]) is str
    again = KernelTask.model_validate_json(task.model_dump_json())
    assert again == task and again.id == task.id and again.dialect.in_pytorch


def test_an_unknown_dialect_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValidationError, match="known: cuda, kernelbench, host, space"):
        task_of("fortran")


def test_a_source_has_a_dialect_of_its_own() -> None:
    plan = "/* rooftree\n*/"
    for asked in (HOST, KERNELBENCH):
        assert task_of(asked).dialect_of(plan) == HOST
        assert task_of(asked).dialect_of("import torch") == KERNELBENCH


def test_device_code_has_the_dialect_that_its_task_says() -> None:
    task = KernelTask(
        name="t", dialect="space", baseline=Candidate(), workloads=(Workload(name="m", shape={}),)
    )
    assert task.dialect_of("/* rooftree\n*/") == SPACE
    assert task.model_copy(update={"dialect": CUDA}).dialect_of("/* rooftree\n*/") == CUDA
