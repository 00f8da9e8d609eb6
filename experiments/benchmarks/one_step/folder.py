"""The folder of a one-step study: what was asked, a line per step, answers and measurements.

::

    study.json             the study and its parents
    tasks/TASK/            each parent's task, with the rules by which it is judged
    results.jsonl          a line per step
    answers.sqlite         every question and answer of the model
    measurements.sqlite    every candidate, its evaluation and its profile
"""

from __future__ import annotations

from experiments.benchmarks.one_step.config import OneStepStudy
from experiments.benchmarks.one_step.parents import Parent
from experiments.benchmarks.one_step.step import Step, StepResult
from experiments.benchmarks.studies.folder import FORMAT, AnyStudyFolder
from mcts.domain import Noun


class OneStepPlan(Noun):
    """A study with its parents, in their order; `keys` are its steps'."""

    format: int = FORMAT
    rooftree: str
    study: OneStepStudy
    parents: tuple[Parent, ...]
    keys: tuple[str, ...] = ()


class OneStepFolder(AnyStudyFolder[OneStepPlan, StepResult]):
    """Reads and writes the folder of a one-step study."""

    plan_type, line_type = OneStepPlan, StepResult


def steps_of(plan: OneStepPlan) -> list[Step]:
    """Every step, reply by reply and arm by arm, so that a study that is stopped early is still
    balanced.
    """
    study = plan.study
    return [
        Step(
            study=study.name,
            arm=name,
            arm_id=study.arm_id(name),
            options=study.options_of(name),
            parent=parent,
            reply=reply,
            version=plan.rooftree,
        )
        for reply in range(study.replies)
        for parent in plan.parents
        for name in study.arms
    ]
