"""What the exhibits are judged on: bundled tasks, the corpus's own, and its small problems."""

from __future__ import annotations

from pathlib import Path

from experiments.corpus.exhibits import FOLDER, Exhibit
from experiments.taskfiles import bundled, load_task
from mcts.domain import Candidate, KernelTask, Policy, Workload
from mcts.errors import InputError

PROBLEMS = FOLDER / "kernelbench" / "problems"
OWN_TASKS = FOLDER / "cuda" / "tasks"


def task_of(exhibit: Exhibit) -> KernelTask:
    """The task of an exhibit, under its policy. InputError where there is none of that name."""
    if exhibit.dialect == "cuda":
        return cuda_task(exhibit.task)
    return problem_task(PROBLEMS / f"{exhibit.task}.py", Policy.model_validate(exhibit.policy))


def cuda_task(name: str) -> KernelTask:
    """One of the corpus's own task folders, else a bundled one."""
    own = OWN_TASKS / name
    folder = own if own.is_dir() else bundled().get(name)
    if folder is None:
        raise InputError(f"the corpus has no cuda task {name!r}, and none is bundled")
    return load_task(folder)


def problem_task(path: Path, policy: Policy) -> KernelTask:
    """A problem file as a task; its own model is the baseline."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    return KernelTask(
        name=path.stem,
        dialect="kernelbench",
        baseline=Candidate(source=f"{text}\n\nModelNew = Model\n"),
        reference=text,
        workloads=(Workload(name="main", shape={}),),
        policy=policy,
    )
