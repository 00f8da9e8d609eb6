"""An encoded space holds exactly the configurations that the task allows."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.scripted import encoded_space as module
from codegen.scripted.encoded_space import EncodedSpace
from mcts.domain import Candidate, KernelTask, Tunable, TunableSpace, Workload, parse_launch_plan
from tests.codegen.cases import SCALE, scale_task, space_task

CLAUSES = ("A <= B", "A + C != 3", "n % (A + 1) == 0", "6 % B == 0", "C > 0 or A == 0", "n > 4")


def _task(space: TunableSpace) -> KernelTask:
    workloads = (Workload(name="a", shape={"n": 12}), Workload(name="b", shape={"n": 6}, weight=0))
    baseline = Candidate(tunables=space.default())
    return KernelTask(
        name="t", dialect="space", baseline=baseline, workloads=workloads, space=space
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(CLAUSES), unique=True))
def test_it_holds_what_the_task_allows_in_natural_order(where: list[str]) -> None:
    values = {"A": (0, 1, 2), "B": (1, 2, 3, 4), "C": (0, 1, 3)}
    space = TunableSpace(
        tunables={name: Tunable(values=v, default=v[0]) for name, v in values.items()},
        where=tuple(where),
    )
    task = _task(space)
    encoded = EncodedSpace(space, task)
    assert encoded.rows is not None
    expected = [c for c in space.configurations({"n": 12}) if task.allows(space, c)]
    assert [encoded.decode(row) for row in encoded.rows] == expected


def test_recorded_rows_are_all_there_is() -> None:
    task = space_task(rows=20)
    encoded = EncodedSpace(task.space, task)
    assert encoded.rows is not None and len(encoded.rows) == 20


def test_a_large_space_is_sampled_around_a_row() -> None:
    task = space_task(tunables=14, values=4)
    encoded = EncodedSpace(task.space, task)
    assert encoded.rows is None
    origin = encoded.encode(task.baseline.tunables)
    pool = encoded.neighbourhood(origin, random.Random(0))
    changes = (pool != origin).sum(axis=1)
    assert (changes == 1).sum() == 14 * 3
    assert (changes == 2).sum() >= 91 * 9
    assert (changes >= 3).any() and not (changes == 0).any()
    assert len(pool) < module.ENUMERATED_ROWS


def test_a_division_by_zero_forbids_a_combination() -> None:
    space = TunableSpace(
        tunables={"A": Tunable(values=(0, 1, 2), default=1)}, where=("A > 0", "4 % A == 0")
    )
    encoded = EncodedSpace(space, _task(space))
    assert encoded.rows is not None and len(encoded.rows) == 2


def test_values_come_back_as_declared() -> None:
    encoded = EncodedSpace(parse_launch_plan(SCALE).space, scale_task())
    row = encoded.encode({"BLOCK": 256.0, "VEC": True, "OTHER": 3, "ITEMS": 5})
    assert encoded.decode(row) == {"BLOCK": 256, "VEC": 1, "ITEMS": 1, "HINT": 0}
