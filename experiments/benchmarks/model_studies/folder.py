"""The folder of a study of searches with a model.

::

    study.json             the study and its tasks
    unnamed/TASK/          tasks without the names of tunables, where an arm is shown such
    runs/ARM/TASK-SEED/    a run folder for each run, as `rooftree optimize` makes them
    results.jsonl          a line per run that has ended
    answers.sqlite         every question and answer of the model
    measurements.sqlite    every candidate, its evaluation, its profile, its confirmation
"""

from __future__ import annotations

from pathlib import Path

from experiments.benchmarks.model_studies.cell import Cell, ModelCellResult, TaskOfStudy
from experiments.benchmarks.model_studies.config import ModelStudy
from experiments.benchmarks.studies.folder import FORMAT, AnyStudyFolder
from mcts.domain import Noun


class ModelPlan(Noun):
    """A study with its tasks, in their order; `keys` are its runs'."""

    format: int = FORMAT
    rooftree: str
    study: ModelStudy
    tasks: tuple[TaskOfStudy, ...]
    keys: tuple[str, ...] = ()


class ModelStudyFolder(AnyStudyFolder[ModelPlan, ModelCellResult]):
    """Reads and writes the folder of a study of searches with a model."""

    plan_type, line_type = ModelPlan, ModelCellResult

    def run(self, cell: Cell) -> Path:
        """The run folder of a cell."""
        return self.path / "runs" / cell.place


def cells_of(plan: ModelPlan) -> list[Cell]:
    """Every run, seed by seed and arm by arm, so that a study that is stopped early is still
    balanced.
    """
    study = plan.study
    return [
        Cell(
            study=study.name,
            arm=name,
            arm_id=study.arm_id(name),
            spec=arm,
            options=study.options_of(name),
            task=task,
            seed=seed,
            trials=study.trials_of(name),
            near=study.near,
            finalists=study.finalists,
            over_compile=study.over_compile,
            version=plan.rooftree,
        )
        for seed in study.each_seed
        for task in plan.tasks
        for name, arm in study.arms.items()
    ]
