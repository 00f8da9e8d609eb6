"""What the exhibits are judged on: bundled tasks, the corpus's own, and its small problems."""

from __future__ import annotations

from experiments.benchmarks.corpus.exhibits import FOLDER, Exhibit
from experiments.runs.tasks.files import bundled, load_task, read_text
from experiments.runs.tasks.problems import problem_task
from mcts.domain import KernelTask, Policy
from mcts.errors import InputError

PROBLEMS = FOLDER / "kernelbench" / "problems"
OWN_TASKS = FOLDER / "cuda" / "tasks"


def task_of(exhibit: Exhibit) -> KernelTask:
    """The task of an exhibit, under its policy. InputError if there is none of that name."""
    if exhibit.dialect == "cuda":
        return cuda_task(exhibit.task)
    path = PROBLEMS / f"{exhibit.task}.py"
    return problem_task(read_text(path), path, Policy.model_validate(exhibit.policy))


def cuda_task(name: str) -> KernelTask:
    """One of the corpus's own task folders, else a bundled one."""
    own = OWN_TASKS / name
    folder = own if own.is_dir() else bundled().get(name)
    if folder is None:
        raise InputError(f"the corpus has no cuda task {name!r}, and none is bundled")
    return load_task(folder)
