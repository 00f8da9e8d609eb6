"""KernelBench problem files as tasks: a `.py` with `Model`, `get_inputs` and `get_init_inputs`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from mcts.domain import Candidate, KernelTask, Policy, Tolerance, Workload
from mcts.errors import InputError

PROBLEM_FILE = "problem.py"
_WANTED = ("Model", "get_inputs", "get_init_inputs")
_TOLERANCE = 1e-4
"""KernelBench's own for fp32; lower precisions are bounded by an honest run's error instead."""


def is_problem(path: Path) -> bool:
    """Whether a file is taken for a problem: by its suffix alone."""
    return path.suffix == ".py"


def read_policy(pairs: list[str]) -> Policy:
    """``NAME=VALUE`` options as a policy. InputError for one that is unknown."""
    fields = Policy.model_fields
    values: dict[str, object] = {}
    for pair in pairs:
        name, found, text = pair.partition("=")
        if not found or name not in fields:
            known = ", ".join(f"{name}=..." for name in fields)
            raise InputError(f"--policy {pair!r}: write one of {known}")
        values[name] = text
    try:
        return Policy.model_validate(values)
    except ValueError:
        raise InputError(
            f"--policy {' '.join(pairs)}: precision is task or tf32, weights mutable or frozen, "
            "libraries allowed or forbidden, hidden_shapes true or false"
        ) from None


def problem_task(text: str, path: Path, policy: Policy) -> KernelTask:
    """The task of a problem file. InputError where it is not one; nothing of it is executed."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise InputError(f"{path}: {line}{reason}") from None
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    if missing := [name for name in _WANTED if name not in defined]:
        raise InputError(
            f"{path} is no KernelBench problem: it defines no {missing[0]} (a class Model, and "
            "functions get_inputs() and get_init_inputs())"
        )
    return KernelTask(
        name=_name(path),
        dialect="kernelbench",
        summary=_summary(tree),
        baseline=Candidate(source=f"{text.rstrip()}\n\n\nModelNew = Model\n"),
        reference=text,
        workloads=(Workload(name="main", shape={}),),
        tolerance=Tolerance(relative=_TOLERANCE, absolute=_TOLERANCE),
        policy=policy,
    )


def _name(path: Path) -> str:
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", path.stem).strip("_.") or "problem"
    return stem.lstrip("-")


def _summary(tree: ast.Module) -> str:
    """The first line of the model's docstring."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            text = ast.get_docstring(node) or ""
            return text.strip().splitlines()[0] if text.strip() else ""
    return ""
