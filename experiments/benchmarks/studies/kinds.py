"""What differs between kinds of studies: the facts of their tasks, and how a run of one is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from experiments.benchmarks.studies import cell as on_spaces
from experiments.benchmarks.studies import recorded_task, recorded_tree
from experiments.benchmarks.studies.cell import Cell, CellResult
from experiments.benchmarks.studies.config import EXPANSIONS, SEARCH, Study, StudyKind
from experiments.benchmarks.studies.recorded_task import TaskFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """facts: of a study's tasks; InputError for a task or an arm that cannot be run. run: one run
    of a study; raises InputError and WorldError as runs do. summary: a line about a task. counted:
    what a run's budget is in.
    """

    facts: Callable[[Study], tuple[TaskFacts, ...]]
    run: Callable[[Cell], CellResult]
    summary: Callable[[TaskFacts], str]
    counted: str


KINDS: Mapping[StudyKind, Kind] = {
    SEARCH: Kind(
        facts=recorded_task.facts_of,
        run=on_spaces.run_cell,
        summary=recorded_task.summary_of,
        counted="evaluations",
    ),
    EXPANSIONS: Kind(
        facts=recorded_tree.facts_of,
        run=recorded_tree.run_cell,
        summary=recorded_tree.summary_of,
        counted="trials",
    ),
}


def run_cell(cell: Cell) -> CellResult:
    """Do one run as its study's kind does it."""
    return KINDS[cell.kind].run(cell)
