"""Definitions of kernels in FlashInfer's trace format, which SOL-ExecBench uses as well.

A definition names axes, inputs and outputs, and has a reference in PyTorch, a function `run`. Its
workloads, lines of a JSONL file, give the variable axes values and say where inputs come from:
https://bench.flashinfer.ai/docs/flashinfer-trace and SOL-ExecBench's `docs/definition.md`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from experiments.runs.tasks.files import read_text
from mcts.domain import first_problem
from mcts.domain.expressions import evaluate, evaluate_int
from mcts.domain.python_source import read_module
from mcts.errors import InputError
from mcts.formats import FormatError, parse_json

ENTRY = "run"
DTYPES = frozenset(
    {
        "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
        "int64", "int32", "int16", "int8", "bool",
    }
)  # fmt: skip
_Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class _Part(BaseModel):
    """What others wrote: fields that are not known here are left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Axis(_Part):
    """The extent of a dimension: fixed, given by each workload, or computed from other axes."""

    type: Literal["const", "var", "expr"]
    value: int | None = Field(default=None, ge=0)
    expression: str | None = None

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Axis:
        if self.type == "const" and self.value is None:
            raise ValueError("an axis of type const needs a value")
        if self.type == "expr" and self.expression is None:
            raise ValueError("an axis of type expr needs an expression")
        return self


class TensorField(_Part):
    """An input or output: names of axes, and a dtype. A `shape` of None is a Python number."""

    shape: tuple[str, ...] | None
    dtype: str
    description: str | None = None

    @model_validator(mode="after")
    def _is_known(self) -> TensorField:
        if self.dtype not in DTYPES:
            raise ValueError(
                f"dtype {self.dtype!r} cannot be judged here; {', '.join(sorted(DTYPES))} can"
            )
        return self


class Definition(_Part):
    """What a kernel computes; `reference` is a module with a function `run` of the inputs."""

    name: str = Field(min_length=1)
    axes: dict[_Identifier, Axis]
    inputs: dict[_Identifier, TensorField] = Field(min_length=1)
    outputs: dict[_Identifier, TensorField] = Field(min_length=1)
    reference: str
    description: str | None = None
    constraints: tuple[str, ...] | None = None
    custom_inputs_entrypoint: _Identifier | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Definition:
        for kind, fields in (("input", self.inputs), ("output", self.outputs)):
            for name, field in fields.items():
                if lacking := [axis for axis in field.shape or () if axis not in self.axes]:
                    raise ValueError(f"{kind} {name!r} has an unknown axis {lacking[0]!r}")
        try:
            tree = read_module(self.reference)
        except InputError as error:
            raise ValueError(f"its reference is not Python: {error}") from None
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        for wanted in (ENTRY, self.custom_inputs_entrypoint):
            if wanted is not None and wanted not in defined:
                raise ValueError(f"its reference defines no function {wanted}")
        return self

    def extents(self, given: Mapping[str, int]) -> dict[str, int]:
        """The extent of every axis, `given` those of type var. InputError if one is missing."""
        extents = {name: axis.value for name, axis in self.axes.items() if axis.value is not None}
        for name, axis in self.axes.items():
            if axis.type == "var":
                if name not in given:
                    raise InputError(f"it gives the axis {name!r} no value")
                extents[name] = given[name]
        left = {
            name: axis.expression for name, axis in self.axes.items() if axis.expression is not None
        }
        while left:
            done = _computed(left, extents)
            if not done:
                raise InputError(f"the axis {next(iter(left))!r} cannot be computed")
            extents |= done
            left = {name: text for name, text in left.items() if name not in done}
        return extents

    def shape(self, field: TensorField, extents: Mapping[str, int]) -> list[int]:
        return [extents[axis] for axis in field.shape or ()]


class InputSource(_Part):
    """Where an input of a workload comes from."""

    type: Literal["random", "scalar", "safetensors", "custom"]
    value: bool | int | float | None = None
    path: str | None = None
    tensor_key: str | None = None

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> InputSource:
        if self.type == "scalar" and self.value is None:
            raise ValueError("an input of type scalar needs a value")
        if self.type == "safetensors" and (self.path is None or self.tensor_key is None):
            raise ValueError("an input of type safetensors needs a path and a tensor_key")
        return self


class TraceWorkload(_Part):
    """Values of the variable axes, and where the inputs come from."""

    uuid: str = Field(min_length=1)
    axes: dict[str, Annotated[int, Field(ge=0)]]
    inputs: dict[str, InputSource]


def read_definition(path: Path) -> Definition:
    """A definition's file. InputError, in one line, if it is none."""
    found = _parsed(read_text(path), str(path))
    try:
        return Definition.model_validate(found)
    except ValidationError as error:
        raise InputError(f"{path} is no definition: {first_problem(error)}") from None


def read_workloads(path: Path, definition: Definition) -> list[TraceWorkload]:
    """The workloads of a JSONL file, each once: bare, or as the `workload` of a trace.

    InputError names the line that is wrong, or breaks a constraint between axes.
    """
    found: dict[str, TraceWorkload] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        table = _parsed(line, where)
        if isinstance(table, dict) and isinstance(table.get("workload"), dict):
            if table.get("definition", definition.name) != definition.name:
                raise InputError(f"{where} is of {table['definition']!r}, not {definition.name!r}")
            table = table["workload"]
        try:
            workload = TraceWorkload.model_validate(table)
        except ValidationError as error:
            raise InputError(f"{where} is no workload: {first_problem(error)}") from None
        try:
            check_workload(definition, workload)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        found.setdefault(workload.uuid, workload)
    if not found:
        raise InputError(f"{path} holds no workload")
    return list(found.values())


def workloads_of(path: Path) -> Path:
    """The JSONL file of a definition's workloads, where one of the two benchmarks keeps it.

    InputError if there is none: beside it as `workload.jsonl`, or with its name below `workloads`
    in place of `definitions`.
    """
    beside = [path.with_name(f"{path.stem}.jsonl"), path.with_name("workload.jsonl")]
    parts = path.absolute().parts
    if "definitions" in parts:
        at = len(parts) - 1 - parts[::-1].index("definitions")
        rest = Path(*parts[at + 1 :]).with_suffix(".jsonl")
        beside.insert(0, Path(*parts[:at]) / "workloads" / rest)
    for file in beside:
        if file.is_file():
            return file
    raise InputError(f"no workloads of {path} were found: name their file with --workloads")


def check_workload(definition: Definition, workload: TraceWorkload) -> None:
    """InputError if a workload does not fit its definition.

    Constraints that are more than arithmetic over axes are left to the reference.
    """
    extents = definition.extents(workload.axes)
    for name, field in definition.inputs.items():
        source = workload.inputs.get(name)
        if source is None:
            raise InputError(f"it says nothing of the input {name!r}")
        if (field.shape is None) != (source.type == "scalar"):
            meant = "a number" if field.shape is None else "a tensor"
            raise InputError(f"the input {name!r} is {meant}, its source is {source.type}")
        if source.type == "custom" and definition.custom_inputs_entrypoint is None:
            raise InputError(
                f"the input {name!r} is custom, but the definition has no custom_inputs_entrypoint"
            )
    for text in definition.constraints or ():
        try:
            holds = evaluate(text, extents)
        except InputError:
            continue
        if not holds:
            raise InputError(f"it breaks the constraint {text}")


def _computed(left: Mapping[str, str], extents: Mapping[str, int]) -> dict[str, int]:
    """Those of the expressions that need no other one."""
    done = {}
    for name, text in left.items():
        try:
            done[name] = evaluate_int(text, extents)
        except InputError:
            continue
    return done


def _parsed(text: str, where: str) -> Any:
    try:
        return parse_json(text)
    except FormatError as error:
        raise InputError(f"{where} is not JSON: {error}") from None
