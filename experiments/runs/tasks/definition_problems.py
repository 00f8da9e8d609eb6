"""A definition on one of its workloads, as a KernelBench problem file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from experiments.runs.tasks.definitions import (
    ENTRY,
    Definition,
    InputSource,
    TensorField,
    TraceWorkload,
)
from experiments.runs.tasks.named_inputs import named_draw
from experiments.runs.tasks.names import plain_name
from experiments.runs.tasks.problems import WORKLOADS
from mcts.domain.python_source import read_module
from mcts.errors import InputError

DEFINITION = "DEFINITION"
"""The name under which a problem file says which definition it was made of."""
OUTPUTS = "OUTPUTS"
"""The name under which it has the dtypes of its outputs, by their names and in order."""
SHAPES = "SHAPES"
"""The name under which it has the shapes of inputs and outputs by name, for each workload; None
for numbers.
"""
_OURS = frozenset(
    {"Model", "ModelNew", "get_inputs", "get_init_inputs", DEFINITION, OUTPUTS, SHAPES, WORKLOADS}
)
_INTEGERS = {
    "int8": (-128, 128), "int16": (-1024, 1024), "int32": (-1024, 1024), "int64": (-1024, 1024)
}  # fmt: skip


def workload_name(
    definition: Definition, workload: TraceWorkload, *, told_apart: bool = False
) -> str:
    """The variable axes, ``M256``; with `told_apart`, the workload's uuid as well."""
    given = [
        f"{axis}{workload.axes[axis]}" for axis, it in definition.axes.items() if it.type == "var"
    ]
    return plain_name("_".join([*given, *([workload.uuid] if told_apart or not given else [])]))


def named_workloads(
    definition: Definition, workloads: Sequence[TraceWorkload]
) -> dict[str, TraceWorkload]:
    """The workloads by names that are each their own."""
    named: dict[str, TraceWorkload] = {}
    for workload in workloads:
        name = workload_name(definition, workload)
        if name in named:
            name = workload_name(definition, workload, told_apart=True)
        named[name] = workload
    return named


def problem_name(definition: Definition, workload: str | None = None) -> str:
    """A file name without a suffix, ``gemm_n4096_k4096_M256``; without a workload, of several."""
    return plain_name(f"{definition.name}_{workload or 'together'}")


def problem_text(
    definition: Definition,
    workloads: Mapping[str, TraceWorkload],
    *,
    root: Path,
    by_name: bool = False,
) -> str:
    """The text of a problem file on the workloads of these names, which count alike.

    Tensors that are kept in files are looked for below `root`. Inputs of type ``random`` are
    standard normal, eight-bit floats cut at 2; whole numbers lie in [-1024, 1024), of eight bits in
    all their range. With `by_name` some are what their names say, see `named_inputs`. Raises
    InputError if the reference defines a name that a problem file needs, or a file is missing.
    """
    _check_names(definition)
    names = ", ".join(definition.inputs)
    dtypes = {name: field.dtype for name, field in definition.outputs.items()}
    shapes = {name: _shapes(definition, workload) for name, workload in workloads.items()}
    first, rest = _split(definition.reference)
    several = len(workloads) > 1
    default = f"workload={next(iter(workloads))!r}" if several else ""
    told = [f"{WORKLOADS} = {dict.fromkeys(workloads, 1.0)!r}"] if several else []
    lines = [
        f'"""{_docstring(definition)}', "", f"Made of the definition {definition.name}.", '"""',
        *first, "", "import torch", "from torch import nn", "", rest, "", "",
        f"{DEFINITION} = {definition.name!r}", *told, f"{OUTPUTS} = {dtypes!r}",
        *_table(SHAPES, shapes), "", "",
        "class Model(nn.Module):",
        f"    def forward(self, {names}):",
        f"        return {ENTRY}({names})", "", "",
        f"def get_inputs({default}):",
        *_drawing(definition, workloads, root, by_name=by_name), "", "",
        "def get_init_inputs():", "    return []", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _shapes(definition: Definition, workload: TraceWorkload) -> dict[str, list[int] | None]:
    extents = definition.extents(workload.axes)
    fields = {**definition.inputs, **definition.outputs}
    return {
        name: None if field.shape is None else definition.shape(field, extents)
        for name, field in fields.items()
    }


def _table(name: str, rows: Mapping[str, object]) -> list[str]:
    """A dictionary with a line for each row."""
    return [f"{name} = {{", *(f"    {key!r}: {value!r}," for key, value in rows.items()), "}"]


def _drawing(
    definition: Definition, workloads: Mapping[str, TraceWorkload], root: Path, *, by_name: bool
) -> list[str]:
    """The body of `get_inputs`."""
    lines = []
    every = [source for workload in workloads.values() for source in workload.inputs.values()]
    if any(source.type == "safetensors" for source in every):
        lines += ["    from safetensors.torch import load_file", ""]
    if len(workloads) == 1:
        lines.append(f"    shapes = {SHAPES}[{next(iter(workloads))!r}]")
    else:
        lines.append(f"    shapes = {SHAPES}[workload]")
    if any(source.type == "custom" for source in every):
        known = {name: repr(_known(definition, each)) for name, each in workloads.items()}
        lines += [
            f"    made = {definition.custom_inputs_entrypoint}(",
            f"        {_of_workload(known)}, torch.get_default_device()",
            "    )",
        ]
    lines.append("    return [")
    for name, field in definition.inputs.items():
        values = {
            key: _value(name, field, workload.inputs[name], root, by_name=by_name)
            for key, workload in workloads.items()
        }
        lines.append(f"        {_of_workload(values)},")
    return [*lines, "    ]"]


def _known(definition: Definition, workload: TraceWorkload) -> dict[str, object]:
    """What a function that draws inputs is told: every axis, and the numbers among the inputs."""
    numbers = {
        name: source.value for name, source in workload.inputs.items() if source.type == "scalar"
    }
    return {**definition.extents(workload.axes), **numbers}


def _of_workload(values: Mapping[str, str]) -> str:
    """An expression of the workload's value; only that of the workload asked for is computed."""
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    choices = ", ".join(f"{name!r}: lambda: {value}" for name, value in values.items())
    return f"{{{choices}}}[workload]()"


def _value(name: str, field: TensorField, source: InputSource, root: Path, *, by_name: bool) -> str:
    """The expression that makes an input."""
    if source.type == "scalar":
        return repr(source.value)
    if source.type == "custom":
        return f"made[{name!r}]"
    if source.type == "safetensors":
        file = root / (source.path or "")
        if not file.is_file():
            raise InputError(
                f"the input {name!r} is kept in {file}, which does not exist: name the folder that "
                "it is below with --root"
            )
        loaded = f"load_file({str(file.absolute())!r})[{source.tensor_key!r}]"
        return f"{loaded}.to(torch.get_default_device())"
    shape, dtype = f"shapes[{name!r}]", f"torch.{field.dtype}"
    if by_name and (drawn := named_draw(name, field)) is not None:
        return drawn.format(shape=shape, dtype=dtype)
    if field.dtype == "bool":
        return f"torch.randint(0, 2, {shape}, dtype={dtype})"
    if field.dtype in _INTEGERS:
        low, high = _INTEGERS[field.dtype]
        return f"torch.randint({low}, {high}, {shape}, dtype={dtype})"
    if field.dtype.startswith("float8"):
        return f"torch.randn({shape}).clamp(-2, 2).to({dtype})"
    return f"torch.randn({shape}, dtype={dtype})"


def _check_names(definition: Definition) -> None:
    taken = [name for node in read_module(definition.reference).body for name in _bound_by(node)]
    for name in taken:
        if name in _OURS:
            raise InputError(f"the reference of {definition.name} defines {name} itself")


def _bound_by(node: ast.stmt) -> Iterator[str]:
    """The names that a statement at a module's top level gives a meaning."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (each.asname or each.name.partition(".")[0] for each in names)
        case _:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    yield inner.id


def _split(reference: str) -> tuple[list[str], str]:
    """Imports of the future, which must come first, and the rest."""
    lines = reference.strip().splitlines()
    first = [line for line in lines if line.startswith("from __future__ import")]
    return first, "\n".join(line for line in lines if line not in first).strip()


def _docstring(definition: Definition) -> str:
    """The description in one line, or the name; without what would end a docstring."""
    text = " ".join((definition.description or definition.name).split())
    return text.replace("\\", "\\\\").replace('"""', "'''").rstrip('"')
