"""The kind of a file to inspect, by its name and its first bytes."""

from __future__ import annotations

import ast
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from codegen.lexemes import lexemes
from experiments.runs.tasks.checks import naming
from experiments.runs.tasks.files import RECORDING_SUFFIXES, TASK_FILE, read_text
from experiments.runs.tasks.problems import PROBLEM_NAMES
from mcts.domain import find_plan_comment
from mcts.domain.python_source import read_module
from mcts.errors import InputError

Kind = Literal[
    "kernel", "program", "library", "model", "script", "executable", "cubin", "counters", "timeline"
]
"""`kernel`: device code, run by a launch plan. `program`: source with a `main`. `library`: source
that launches its kernels itself and has no `main`. `model`: a KernelBench problem, or a `ModelNew`
for one. `script`: any other Python. `counters` and `timeline`: reports that Nsight Compute and
Nsight Systems made."""

MODEL_NEW = "ModelNew"
TAKE_ARGUMENTS = ("program", "script", "executable")
"""Kinds that are run as they are."""
_COUNTERS = (".csv", ".ncu-rep")
_TIMELINES = (".sqlite", ".nsys-rep", ".qdrep", ".qdstrm")
_SOURCES = (".cu", ".cuh")
_PYTHON = ".py"
_KNOWN = (*_COUNTERS, *_TIMELINES, *_SOURCES, ".cubin", _PYTHON)
_MOST_SOURCE_BYTES = 16 * 2**20
_ELF = b"\x7fELF"
_EM_CUDA = 190
_MAIN = re.compile(r"\b(?:int|auto|void)\s+main\s*\(")
_LAUNCHER = re.compile(r"^\s*launcher\s*=", re.MULTILINE)
_WANTED = (
    "give a .cu or .py file, an executable, or a report of Nsight Compute (.csv, .ncu-rep) or "
    "Nsight Systems (.nsys-rep, .sqlite)"
)


@dataclass(frozen=True, slots=True)
class Target:
    """A file and what it is; `source` is its text if it has one."""

    path: Path
    kind: Kind
    source: str | None = None


def identify(path: Path, *, planned: bool = False) -> Target:
    """Tell what `path` is. `planned`: a launch plan is given beside it, so it holds device code.

    A file with both a plan and a `main` is device code: the plan was written for Rooftree.
    Raises InputError, with what to give instead, for what cannot be looked at.
    """
    if path.is_dir():
        inside = path / "kernel.cu"
        hint = f"; its kernel is {inside}" if (path / TASK_FILE).is_file() else f": {_WANTED}"
        raise InputError(f"{path} is a folder{hint}")
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if not path.is_file():
        raise InputError(f"{path} is no regular file: {_WANTED}")
    head = _head(path)
    if not head:
        raise InputError(f"{path} is empty")
    if head.startswith(_ELF):
        return Target(path, _elf_kind(head))
    if path.name.endswith(RECORDING_SUFFIXES):
        raise InputError(
            f"{path} looks like a recording: name the kernel, and give this with --replay {path}"
        )
    match path.suffix.lower():
        case suffix if suffix in _COUNTERS:
            return Target(path, "counters")
        case suffix if suffix in _TIMELINES:
            return Target(path, "timeline")
        case suffix if suffix in _SOURCES:
            return _source(path, planned=planned)
        case suffix if suffix == _PYTHON:
            return _python(path)
    raise InputError(f"cannot tell what {path} is: {_WANTED}")


def second_file(first: Path, args: Sequence[str], *, planned: bool) -> Path | None:
    """The file that is to be looked at beside `first`, if `args` is the name of one and `first`
    takes no arguments; None otherwise."""
    if len(args) != 1 or not first.is_file():
        return None
    if not Path(args[0]).exists() and Path(args[0]).suffix not in _KNOWN:
        return None
    takes = identify(first, planned=planned).kind in TAKE_ARGUMENTS
    return None if takes else Path(args[0])


def has_main(source: str) -> bool:
    """Whether `source` defines a `main`, comments and strings left out."""
    return _MAIN.search(_bare(source)) is not None


def _bare(source: str) -> str:
    """`source` without comments and strings."""
    code, at = [], 0
    for _, start, end in lexemes(source):
        code.append(source[at:start])
        at = end
    return " ".join([*code, source[at:]])


def defined_names(source: str) -> frozenset[str]:
    """The functions and classes at the top of a Python file. InputError if it is no Python."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return frozenset(node.name for node in read_module(source).body if isinstance(node, kinds))


def _python(path: Path) -> Target:
    source = _text(path)
    with naming(path):
        defined = defined_names(source)
    is_model = MODEL_NEW in defined or defined.issuperset(PROBLEM_NAMES)
    return Target(path, "model" if is_model else "script", source)


def _source(path: Path, *, planned: bool) -> Target:
    source = _text(path)
    plan = None if planned else find_plan_comment(source)
    if plan is not None and _LAUNCHER.search(plan[1]):
        raise InputError(
            f"{path} has a launcher, which is called for a problem: rooftree evaluate PROBLEM "
            f"{path} judges it; inspect looks at device code and at programs"
        )
    if planned or plan:
        return Target(path, "kernel", source)
    if has_main(source):
        return Target(path, "program", source)
    return Target(path, "library" if "<<<" in _bare(source) else "kernel", source)


def _text(path: Path) -> str:
    if path.stat().st_size > _MOST_SOURCE_BYTES:
        raise InputError(f"{path} is larger than {_MOST_SOURCE_BYTES >> 20} MiB: no source file")
    source = read_text(path)
    if not source.strip():
        raise InputError(f"{path} is empty")
    return source


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(64)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None


def _elf_kind(head: bytes) -> Kind:
    """A cubin is an ELF file for CUDA's own machine number."""
    if len(head) >= 20 and struct.unpack_from("<H", head, 18)[0] == _EM_CUDA:
        return "cubin"
    return "executable"
