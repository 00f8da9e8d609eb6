"""Candidates from files, or from a task's own kernel with other values: checked, not judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from codegen.plan_text import canonical_source
from experiments.runs.tasks.checks import naming
from experiments.runs.tasks.files import TaskSource, read_text
from experiments.runs.tasks.solutions import SUFFIX as SOLUTION_SUFFIX
from experiments.runs.tasks.solutions import candidate_text, read_solution
from mcts.domain import (
    HOST,
    KERNELBENCH,
    Candidate,
    KernelTask,
    TunableSpace,
    parse_launch_plan,
)
from mcts.domain.expressions import Scalar
from mcts.errors import InputError

Labelled = tuple[str, Candidate]


def candidates_of(task: KernelTask, files: Sequence[Path], values: Sequence[str]) -> list[Labelled]:
    """The candidates to evaluate, with their labels. InputError if one does not fit the task."""
    problem = task.dialect.in_pytorch
    if values and problem and not all(file.suffix == HOST.suffix for file in files or [Path()]):
        raise InputError("--set is for tunables of .cu candidates")
    if not files:
        tunables = _with_values(task.space, task.baseline.tunables, values)
        _check_where(task, task.space, tunables)
        return [("baseline" if not values else " ".join(values), _variant(task, tunables))]
    if not task.dialect.has_source:
        raise InputError(f"task {task.name!r} has no source: give --set NAME=VALUE, not files")
    for file in files:
        _check_kind(task, file)
    if problem:
        return [(str(file), _solution(task, file, values)) for file in files]
    return [(str(file), _from_file(task, file, values)) for file in files]


def measured_against(source: TaskSource, path: Path) -> TaskSource:
    """The same task with the candidate in `path` as its baseline; no recording knows that one.

    InputError if it does not fit the task.
    """
    task = source.task
    [(_, candidate)] = candidates_of(task, [path], [])
    space = task.dialect_of(candidate.source).space_of(candidate.source) or TunableSpace()
    update = {"baseline": candidate, "space": space}
    return replace(source, task=task.model_copy(update=update), recordings=())


def _solution(task: KernelTask, path: Path, values: Sequence[str]) -> Candidate:
    """A candidate for a KernelBench problem, in the dialect that it is written in, or a solution
    in FlashInfer's trace format.
    """
    if path.suffix == SOLUTION_SUFFIX:
        return Candidate(source=candidate_text(read_solution(path), task.reference or ""))
    source = read_text(path)
    dialect = task.dialect_of(source)
    with naming(path):
        if path.suffix == HOST.suffix and not dialect.has_plan:
            raise InputError(
                "a .cu for a KernelBench problem begins with a host plan, a /* rooftree ... */ "
                "comment with TOML: see docs/host.md"
            )
        space = dialect.space_of(source)
        if space is None:
            return Candidate(source=source)
        tunables = _with_values(space, space.default(), values)
        dialect.check_values(source, tunables)
    return Candidate(source=source, tunables=tunables)


def _check_kind(task: KernelTask, file: Path) -> None:
    """Raise InputError for a Python file if the task takes kernels with a launch plan."""
    if task.dialect.declares_launches and file.suffix == KERNELBENCH.suffix:
        raise InputError(f"{file}: candidates of task {task.name!r} are .cu with a launch plan")


def _variant(task: KernelTask, tunables: dict[str, Scalar]) -> Candidate:
    return Candidate(source=task.baseline.source, tunables=tunables)


def _from_file(task: KernelTask, path: Path, values: Sequence[str]) -> Candidate:
    """A candidate for a task with source; the task's own kernel if only its defaults differ."""
    source = read_text(path)
    with naming(path):
        space = task.dialect.space_of(source) or TunableSpace()
        buffers = frozenset(buffer.name for buffer in task.buffers)
        task.dialect.check_names(source, buffers=buffers, shape=task.shape_names)
    tunables = _with_values(space, space.default(), values)
    _check_where(task, space, tunables)
    if task.dialect.declares_launches:
        with naming(path):
            _check_launches(task, source, tunables)
    return Candidate(source=canonical_source(task, source), tunables=tunables)


def _check_launches(task: KernelTask, source: str, tunables: dict[str, Scalar]) -> None:
    """Raise InputError for a launch that is impossible on a workload, before a GPU is asked."""
    from profilers.compiling.lowering import lower

    plan = parse_launch_plan(source)
    for workload in task.workloads:
        lower(task, plan, tunables, workload)


def _with_values(
    space: TunableSpace, base: dict[str, Scalar], pairs: Sequence[str]
) -> dict[str, Scalar]:
    """`base` with the given ``NAME=VALUE``. InputError if one is unknown or out of range."""
    chosen = dict(base)
    for pair in pairs:
        name, sign, text = pair.partition("=")
        if not sign:
            raise InputError(f"--set {pair!r}: write NAME=VALUE")
        declared = space.tunables[name].values if name in space.tunables else ()
        matching = [value for value in declared if str(value) == text]
        chosen[name] = matching[0] if matching else text
    space.check(chosen)
    return chosen


def _check_where(task: KernelTask, space: TunableSpace, tunables: dict[str, Scalar]) -> None:
    if not task.allows(space, tunables):
        listed = ", ".join(f"{name}={value}" for name, value in tunables.items())
        raise InputError(f"the plan's `where` excludes {listed}")
