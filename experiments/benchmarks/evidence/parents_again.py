"""A one-step study with its parents measured again: `python -m ...parents_again STUDY STORE`.

Where a study went on on another kind of GPU than its parents were measured on, the gain of a child
over its parent compares two GPUs. `STORE` holds what the parents came to on the GPU of the
children; their speedups there take the place of those that the prompts told of.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from experiments.benchmarks.measurements.store import MeasurementStore
from experiments.benchmarks.one_step.comparing import compare_steps
from experiments.benchmarks.one_step.folder import OneStepFolder, OneStepPlan
from experiments.benchmarks.one_step.step import StepResult
from experiments.benchmarks.one_step.tables import arm_table, explanation, step_contest_table
from experiments.text.tables import show, width
from mcts.domain import Evaluation
from mcts.errors import InputError, RooftreeError


def measured_again(
    plan: OneStepPlan, lines: Iterable[StepResult], store: MeasurementStore
) -> Iterator[StepResult]:
    """The lines with the parents' speedups that `store` has. InputError if it lacks one."""
    again: dict[tuple[str, str], Evaluation] = {}
    for parent in plan.parents:
        found = store.find(parent.task_id, parent.candidate, "evaluation")
        if found is None:
            raise InputError(f"the parent {parent.name} was not measured again")
        again[parent.task, parent.name] = Evaluation.model_validate(found)
    for line in lines:
        parent_evaluation = again[line.task, line.parent]
        timing = parent_evaluation.timing
        if timing is None or parent_evaluation.speedup is None:
            raise InputError(f"the parent {line.parent} failed when it was measured again")
        yield line.model_copy(
            update={
                "parent_speedup": parent_evaluation.speedup,
                "parent_interval": (timing.speedup_low, timing.speedup_high),
            }
        )


def main(arguments: list[str]) -> int:
    """Exit codes: 0, 2 for bad input."""
    if len(arguments) != 2:
        print(__doc__)
        return 2
    study, store_file = map(Path, arguments)
    try:
        folder = OneStepFolder(study)
        plan = folder.plan()
        if not store_file.is_file():
            raise InputError(f"{store_file} does not exist")
        with closing(MeasurementStore(store_file, read_only=True)) as store:
            found = compare_steps(plan, list(measured_again(plan, folder.lines(), store)))
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    show(arm_table(found, width=width()), step_contest_table(found, width=width()))
    print(explanation(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
