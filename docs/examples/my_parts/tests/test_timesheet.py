"""The evaluator keeps the contract of evaluators."""

from __future__ import annotations

from pathlib import Path

import pytest
from my_parts.timesheet import TimesheetEvaluator

from experiments.runs.tasks.files import find_task
from mcts.domain import Candidate
from mcts.errors import InputError, NotRecorded
from mcts.ports import Evaluator
from tests.contracts.evaluator_contract import EvaluatorContract

TABLE = Path(__file__).parents[1] / "transpose_times.csv"
TASK = find_task("transpose").task


def variant(**tunables: int) -> Candidate:
    baseline = TASK.baseline
    return Candidate(source=baseline.source, tunables={**baseline.tunables, **tunables})


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
