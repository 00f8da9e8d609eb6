"""Checks of a task folder before anything is run; errors name the file and the field."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from experiments.text.words import did_you_mean
from mcts.domain import KernelTask, LaunchPlan, TunableSpace, Workload, parse_launch_plan
from mcts.domain.expressions import evaluate, evaluate_int
from mcts.domain.python_source import read_module
from mcts.errors import InputError


@contextmanager
def naming(place: object) -> Iterator[None]:
    """Put `place` in front of the message of an InputError raised in the block."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def check_reference(text: str, path: Path) -> None:
    """Raise InputError unless the text is Python that defines a function `reference`.

    It is only parsed here; a worker runs it.
    """
    with naming(path):
        tree = read_module(text)
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    if "reference" not in functions:
        raise InputError(f"{path} defines no function reference(...)")


def unknown_methods(space: TunableSpace) -> list[str]:
    """What tunables say of methods that no playbook knows, a line each."""
    from codegen.playbook import catalogue

    known = catalogue()
    return [
        f"{name}: {method!r} is no method of the playbook"
        + (f", {hint}" if (hint := did_you_mean(method, known)) else "")
        for name, tunable in space.tunables.items()
        for method in tunable.methods
        if method not in known
    ]


def check_sizes(task: KernelTask, path: Path) -> None:
    """Raise InputError unless all shapes are positive and all costs are numbers, on every workload.

    Two timed workloads of the same shape are an error too: a weight says how much one counts.
    """
    seen: dict[tuple[tuple[str, int], ...], str] = {}
    for workload in task.timed_workloads:
        shape = tuple(sorted(workload.shape.items()))
        if (first := seen.setdefault(shape, workload.name)) != workload.name:
            raise InputError(
                f"{path}: the timed workloads {first} and {workload.name} have the same shape: "
                "leave one out and give the other its weight"
            )
    for workload in task.workloads:
        with naming(f"{path}: workload {workload.name}"):
            for buffer in task.buffers:
                buffer.extents(workload.shape)
        if task.cost is not None:
            for name, told in (("bytes", task.cost.bytes), ("flops", task.cost.flops)):
                with naming(f"{path}: cost.{name}"):
                    if (value := evaluate_int(told, workload.shape)) < 0:
                        raise InputError(f"{value}: it cannot be negative")


def check_baseline(task: KernelTask, path: Path) -> None:
    """Raise InputError unless `where` allows the defaults and all launches have positive sizes."""
    with naming(f"{path}: where"):
        allowed = task.allows(task.space, task.space.default())
    if not allowed:
        raise InputError(f"{path}: `where` excludes the defaults, which are the baseline")
    if task.dialect.declares_launches:
        plan = parse_launch_plan(task.baseline.source)
        for workload in task.workloads:
            _check_launches(task, plan, workload, path)


def _check_launches(task: KernelTask, plan: LaunchPlan, workload: Workload, path: Path) -> None:
    names = {**workload.shape, **task.baseline.tunables}
    for step in plan.launch:
        with naming(f"{path}: launch of {step.kernel or step.memset} on workload {workload.name}"):
            if step.when is not None and not evaluate(step.when, names):
                continue
            for extent in (*step.grid, *step.block):
                if evaluate_int(extent, names) < 1:
                    raise InputError(f"{extent!r} is not positive")
            evaluate_int(step.shared, names)
