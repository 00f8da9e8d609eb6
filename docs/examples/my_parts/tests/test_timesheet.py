"""The evaluator keeps the contract of evaluators."""

from __future__ import annotations

from pathlib import Path

import pytest
from my_parts.timesheet import TimesheetEvaluator

from mcts.domain import Candidate, KernelTask, Workload
from mcts.errors import InputError, NotRecorded
from mcts.ports import Evaluator
from mcts.testing.evaluators import EvaluatorContract

TABLE = Path(__file__).parents[1] / "transpose_times.csv"
USUAL = {"STAGE": 0, "TILE": 32, "BLOCK": 256, "VEC": 1, "LAYOUT": 0, "ORDER": 0, "HINT": 0}


def variant(**tunables: int) -> Candidate:
    return Candidate(tunables={**USUAL, **tunables})


TASK = KernelTask(
    name="transpose",
    dialect="space",
    baseline=variant(),
    workloads=(Workload(name="main", shape={}),),
)


class TestTimesheet(EvaluatorContract):
    @pytest.fixture
    def evaluator(self) -> Evaluator:
        return TimesheetEvaluator(TASK, TABLE)

    @pytest.fixture
    def working(self) -> Candidate:
        return variant(TILE=64)

    @pytest.fixture
    def failing(self) -> dict[str, Candidate]:
        return {"runtime_error": variant(TILE=256, BLOCK=1024)}


def test_what_the_table_lacks_is_no_result() -> None:
    with pytest.raises(NotRecorded):
        TimesheetEvaluator(TASK, TABLE).evaluate(variant(TILE=7))


def test_a_table_of_something_else_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "other.csv"
    table.write_text("A,status,us_1\n1,measured,3.5\n")
    with pytest.raises(InputError, match="line 2"):
        TimesheetEvaluator(TASK, table)
