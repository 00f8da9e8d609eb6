"""A definition on one of its workloads, as a KernelBench problem file."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

from experiments.runs.tasks.definitions import (
    ENTRY,
    Definition,
    InputSource,
    TensorField,
    TraceWorkload,
)
from mcts.domain.python_source import read_module
from mcts.errors import InputError

DEFINITION = "DEFINITION"
"""The name under which a problem file says which definition it was made of."""
OUTPUTS = "OUTPUTS"
"""The name under which a problem file says what its model returns: names, shapes and dtypes."""
_OURS = ("Model", "ModelNew", "get_inputs", "get_init_inputs")
_INTEGERS = {
    "int8": (-128, 128), "int16": (-1024, 1024), "int32": (-1024, 1024), "int64": (-1024, 1024)
}  # fmt: skip


def problem_name(
    definition: Definition, workload: TraceWorkload, *, told_apart: bool = False
) -> str:
    """A file name, without a suffix, that tells the variable axes: ``gemm_n4096_k4096_M256``.

    With `told_apart` the workload's uuid as well.
    """
    given = [
        f"{axis}{workload.axes[axis]}" for axis, it in definition.axes.items() if it.type == "var"
    ]
    words = [definition.name, *given, *([workload.uuid] if told_apart else [])]
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", "_".join(words)).strip("_.-")


def problem_text(definition: Definition, workload: TraceWorkload, *, root: Path) -> str:
    """The problem file's text. Tensors that are kept in files are looked for below `root`.

    Inputs of type ``random`` are standard normal, as both benchmarks draw them, eight-bit floats
    cut at 2; whole numbers lie in [-1024, 1024), of eight bits in all their range. Raises
    InputError if the reference defines a name that a problem file needs, or a file is missing.
    """
    _check_names(definition)
    extents = definition.extents(workload.axes)
    names = ", ".join(definition.inputs)
    outputs = [
        (name, definition.shape(field, extents), field.dtype)
        for name, field in definition.outputs.items()
    ]
    first, rest = _split(definition.reference)
    told = ", ".join(f"{axis}={value}" for axis, value in extents.items())
    lines = [
        f'"""{_docstring(definition)}', "", f"{definition.name}, {told}.", '"""', *first, "",
        "import torch", "from torch import nn", "", rest, "", "",
        f"{DEFINITION} = {definition.name!r}", f"{OUTPUTS} = {outputs!r}", "", "",
        "class Model(nn.Module):",
        f"    def forward(self, {names}):",
        f"        return {ENTRY}({names})", "", "",
        "def get_inputs():",
        *_drawing(definition, workload, extents, root), "", "",
        "def get_init_inputs():", "    return []", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _drawing(
    definition: Definition, workload: TraceWorkload, extents: Mapping[str, int], root: Path
) -> list[str]:
    """The body of `get_inputs`."""
    lines = []
    sources = {name: workload.inputs[name] for name in definition.inputs}
    if any(source.type == "custom" for source in sources.values()):
        numbers = {
            name: source.value for name, source in sources.items() if source.type == "scalar"
        }
        lines += [
            f"    made = {definition.custom_inputs_entrypoint}(",
            f"        {dict(extents) | numbers!r},",
            "        torch.get_default_device(),",
            "    )",
        ]
    if any(source.type == "safetensors" for source in sources.values()):
        lines.append("    from safetensors.torch import load_file")
        lines.append("")
    lines.append("    return [")
    for name, field in definition.inputs.items():
        value = _value(name, field, sources[name], definition.shape(field, extents), root)
        lines.append(f"        {value},")
    return [*lines, "    ]"]


def _value(name: str, field: TensorField, source: InputSource, shape: list[int], root: Path) -> str:
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
    dtype = f"torch.{field.dtype}"
    if field.dtype == "bool":
        return f"torch.randint(0, 2, {shape}, dtype={dtype})"
    if field.dtype in _INTEGERS:
        low, high = _INTEGERS[field.dtype]
        return f"torch.randint({low}, {high}, {shape}, dtype={dtype})"
    if field.dtype.startswith("float8"):
        return f"torch.randn({shape}).clamp(-2, 2).to({dtype})"
    return f"torch.randn({shape}, dtype={dtype})"


def _check_names(definition: Definition) -> None:
    for node in read_module(definition.reference).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in _OURS:
            raise InputError(f"the reference of {definition.name} defines {node.name} itself")


def _split(reference: str) -> tuple[list[str], str]:
    """Imports of the future, which must come first, and the rest."""
    lines = reference.strip().splitlines()
    first = [line for line in lines if line.startswith("from __future__ import")]
    return first, "\n".join(line for line in lines if line not in first).strip()


def _docstring(definition: Definition) -> str:
    """The description in one line, or the name; without what would end a docstring."""
    text = " ".join((definition.description or definition.name).split())
    return text.replace("\\", "\\\\").replace('"""', "'''").rstrip('"')
