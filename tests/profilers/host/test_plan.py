"""The plan of a host candidate: what it must say, what compiler and caller get of it."""

from __future__ import annotations

from typing import get_args

import pytest

from mcts.domain import (
    HOST,
    HOST_ITEM_BYTES,
    KERNELBENCH,
    Candidate,
    HostPlan,
    KernelTask,
    Workload,
    parse_host_plan,
)
from mcts.domain.host_plan import HostDType
from mcts.errors import InputError
from profilers.host.entry import entry_source, pointer_names, real_arguments, whole_arguments
from tests.support.host_sources import PLAN, source


def test_a_plan_names_the_launcher_its_arguments_and_what_they_mean() -> None:
    plan = parse_host_plan(source())
    assert plan.launcher == "scale"
    assert plan.buffers == {"x", "w", "y", "scratch"}
    assert [name for name, _ in plan.given] == ["x", "w"]
    assert plan.weight[0].parameter == "inner.w"
    assert plan.space.default() == {"UNROLL": 1, "SCHEDULE": "plain"}


def test_values_become_macros_in_name_order() -> None:
    plan = parse_host_plan(source())
    assert plan.macros({"UNROLL": 2}) == ("-DSCHEDULE=plain", "-DUNROLL=2")
    with pytest.raises(InputError, match="out of range"):
        plan.macros({"UNROLL": 3})
    with pytest.raises(InputError, match="unknown tunable"):
        plan.macros({"OTHER": 1})


def test_a_where_over_tunables_excludes_a_combination() -> None:
    plan = parse_host_plan(source(head='where = "UNROLL == 1"'))
    plan.values({"UNROLL": 1})
    with pytest.raises(InputError, match="where"):
        plan.values({"UNROLL": 2})


@pytest.mark.parametrize(
    ("was", "instead", "said"),
    [
        ('"m", "stream"]', '"m"]', "stream"),
        ('"m", "stream"]', '"rows", "stream"]', "unknown 'rows'"),
        ('"m", "stream"]', '"2 * x", "stream"]', "calculates with the tensor 'x'"),
        ('name = "y"', 'name = "x"', "'x' is declared twice"),
        ('name = "y"', 'name = "m"', "names both a tensor and a number"),
        ('name = "y"', 'name = "a-b"', "a text of the form"),
        ('bytes_from = "needed"', 'bytes_from = "needed"\nsize = 4', "either `size` or"),
        ('"plain"', '"$(id)"', "cannot be a macro's text"),
        ('dtype = "float32"', 'dtype = "float31"', "dtype"),
        ("[[output]]", "[[product]]", "output"),
        ('launcher = "scale"', "launcher = scale", "line 2"),
    ],
)
def test_a_wrong_plan_is_refused_in_one_line(was: str, instead: str, said: str) -> None:
    assert was in PLAN
    with pytest.raises(InputError) as caught:
        parse_host_plan(source().replace(was, instead, 1))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "is_host"),
    [
        (source(), True),
        ("// a licence\n/* and\nmore */\n" + source(), True),
        ("\ufeff" + source(), True),
        ("import torch\nCUDA = '''" + source() + "'''", False),
        ("#include <cuda.h>\n" + source(), False),
        ("class ModelNew: pass", False),
        ("", False),
    ],
)
def test_a_source_is_recognized_by_its_leading_comment(text: str, is_host: bool) -> None:
    assert HOST.recognises(text) == is_host
    assert (problem().dialect_of(text) == HOST) == is_host


def test_the_entry_is_handed_pointers_and_numbers_in_a_fixed_order() -> None:
    plan = parse_host_plan(source())
    assert pointer_names(plan) == ("x", "w", "y", "scratch")
    assert whole_arguments(plan) == ("n", "scratch_bytes", "m")
    assert real_arguments(plan) == ("eps",)
    text = entry_source(plan)
    assert text.index('#include "candidate.cu"') < text.index("::scale(")


def test_every_dtype_has_a_size_and_a_name_in_the_entry() -> None:
    names = {name for part in get_args(HostDType) for name in (get_args(part) or (part,))}
    assert set(HOST_ITEM_BYTES) == names
    text = entry_source(parse_host_plan(source()))
    assert all(f"dtype_{name} " in text for name in names)


def test_a_plan_passes_through_json_unchanged() -> None:
    plan = parse_host_plan(source())
    assert HostPlan.model_validate_json(plan.model_dump_json()) == plan


def test_a_host_task_is_a_problem_whose_baseline_is_pytorch() -> None:
    task = problem()
    assert task.dialect == HOST and task.dialect.in_pytorch
    assert task.dialect_of(task.baseline.source) == KERNELBENCH
    assert task.id != task.model_copy(update={"dialect": KERNELBENCH}).id


def problem() -> KernelTask:
    return KernelTask(
        name="t", dialect="host", baseline=Candidate(source="ModelNew = Model"), reference="",
        workloads=(Workload(name="main", shape={}),),
    )  # fmt: skip
