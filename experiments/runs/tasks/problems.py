"""KernelBench problem files as tasks: a `.py` with `Model`, `get_inputs` and `get_init_inputs`."""

from __future__ import annotations

import ast
from pathlib import Path

from pydantic import ValidationError

from experiments.runs.tasks.names import plain_name
from mcts.domain import (
    DIALECTS,
    HOST,
    KERNELBENCH,
    Candidate,
    Dialect,
    KernelTask,
    Policy,
    Tolerance,
    TunableSpace,
    Workload,
    first_problem,
    parse_host_plan,
)
from mcts.domain.expressions import names_in
from mcts.domain.python_source import constant_of, read_module
from mcts.errors import InputError

PROBLEM_FILE = "problem.py"
KERNEL_FILE = "kernel.cu"
"""The host candidate that a run began with, beside the problem in the run folder."""
PROBLEM_NAMES = ("Model", "get_inputs", "get_init_inputs")
"""What a problem file defines."""
WORKLOADS = "WORKLOADS"
"""The name under which a problem file may have weights by the names of its workloads."""
MOST_WORKLOADS = 8
_TOLERANCE = 1e-4
"""KernelBench's own, for fp32; lower precisions are held to an honest run's error instead."""


def is_problem(path: Path) -> bool:
    """Whether a file is taken for a problem; its suffix alone decides."""
    return path.suffix == ".py"


def problem_dialect(name: str | None) -> Dialect:
    """The dialect of a problem's candidates: PyTorch if none is named.

    InputError if problems have no candidates in the dialect named.
    """
    if name is None:
        return KERNELBENCH
    known = [dialect for dialect in DIALECTS.values() if dialect.in_pytorch]
    if name not in known:
        raise InputError(f"--dialect {name!r}: {' or '.join(known)}")
    return DIALECTS[name]


def problem_task(
    text: str,
    path: Path,
    policy: Policy,
    dialect: Dialect = KERNELBENCH,
    *,
    kernel: str | None = None,
) -> KernelTask:
    """The task of a problem file, which is parsed, not run. InputError if it is no problem file.

    `dialect` is what proposers write for it: PyTorch files, or `.cu` files with a launcher. With
    `kernel`, the text of such a `.cu` file, that is the baseline, in place of the model.
    """
    try:
        tree = read_module(text)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    if missing := [name for name in PROBLEM_NAMES if name not in defined]:
        raise InputError(
            f"{path} is no KernelBench problem: it defines no {missing[0]} (a class Model, and "
            "functions get_inputs() and get_init_inputs())"
        )
    baseline, space = Candidate(source=f"{text.rstrip()}\n\n\nModelNew = Model\n"), TunableSpace()
    if kernel is not None:
        dialect, space = HOST, kernel_space(kernel)
        baseline = Candidate(source=kernel, tunables=space.default())
    return KernelTask(
        name=plain_name(path.stem, otherwise="problem"),
        dialect=dialect,
        summary=_summary(tree),
        baseline=baseline,
        space=space,
        reference=text,
        workloads=_workloads(tree, path),
        tolerance=Tolerance(relative=_TOLERANCE, absolute=_TOLERANCE),
        policy=policy,
    )


def _workloads(tree: ast.Module, path: Path) -> tuple[Workload, ...]:
    """What a problem file has under `WORKLOADS`, whose names its `get_inputs` takes; or one.

    InputError if that is no dictionary of names and weights, or `get_inputs` takes no name.
    """
    takes_name = False
    try:
        weights = constant_of(tree, WORKLOADS)
    except ValueError:
        weights = ()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "get_inputs":
            takes_name = len(node.args.args) == len(node.args.defaults) == 1
    if weights is None:
        return (Workload(name="main", shape={}),)
    if not isinstance(weights, dict) or not weights or not takes_name:
        raise InputError(
            f"{path}: {WORKLOADS} is a dictionary of weights by names, literally, and get_inputs "
            "takes such a name, with a default"
        )
    if len(weights) > MOST_WORKLOADS:
        raise InputError(
            f"{path}: {len(weights)} workloads, {MOST_WORKLOADS} at most can be open at a time"
        )
    try:
        found = tuple(
            Workload(name=name, shape={}, weight=weight) for name, weight in weights.items()
        )
    except ValidationError as error:
        raise InputError(f"{path}: {WORKLOADS}: {first_problem(error)}") from None
    if not any(one.weight for one in found):
        raise InputError(f"{path}: no workload has a weight above zero: nothing would be timed")
    return found


def kernel_space(kernel: str) -> TunableSpace:
    """The tunables of a host candidate, and the plan's `where` expressions over them alone.

    InputError if the text has no host plan.
    """
    if not HOST.recognises(kernel):
        raise InputError(
            "--kernel takes a .cu that begins with a host plan, a /* rooftree ... */ comment with "
            "TOML: see docs/host.md"
        )
    space = parse_host_plan(kernel).space
    where = tuple(text for text in space.where if names_in(text) <= space.tunables.keys())
    return TunableSpace(tunables=space.tunables, where=where)


def _summary(tree: ast.Module) -> str:
    """The first line of the model's docstring; empty if it has none."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            text = ast.get_docstring(node) or ""
            return text.strip().splitlines()[0] if text.strip() else ""
    return ""
