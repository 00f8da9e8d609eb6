"""The best kernel as a Python module with a `ModelNew` that needs PyTorch alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from codegen.export.kernel import Kernel
from codegen.export.model_text import ITEM, KERNELS, MODEL, TENSOR_MAP
from codegen.export.naming import identifiers
from codegen.export.python_text import HELPERS, RESERVED, PythonText
from codegen.export.shape_solving import Solved, solve
from codegen.self_contained import self_contained
from mcts.domain import Buffer, KernelArgument, Launch, TensorMapArgument, kernel_macros

_CTYPES = {
    "int32": "c_int32", "uint32": "c_uint32", "int64": "c_int64",
    "float32": "c_float", "float64": "c_double",
}  # fmt: skip
_OWN = RESERVED | {"inputs", "self", "torch", "compile_cuda", "tensor_map", "TensorMap"}


def model_new(kernel: Kernel) -> str:
    """The module of a kernel with a launch plan. InputError if the plan cannot be written in
    Python, saying why.
    """
    return self_contained(_Module(kernel).text())


class _Module:
    """Writes the parts of the module. `names` is what shape variables are called in it."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self._task, self._plan = kernel, kernel.task, kernel.plan
        self._variables = tuple(self._task.timed_workload.shape)
        self._names = identifiers(self._variables, taken=_OWN)
        self._text = PythonText(kernel.tunables, self._names)
        self._solved: Solved = solve(self._task.inputs, self._variables, self._names)
        self._inputs = identifiers(
            [buffer.name for buffer in self._task.inputs], taken={"self", "torch"}
        )

    def text(self) -> str:
        shape = ", ".join(self._names.values())
        parts = [
            _docstring(self._kernel),
            "import ctypes\nimport functools\nfrom fractions import Fraction\n",
            f"import torch\n\nfrom codegen.torch_cuda import {', '.join(self._helpers())}\n",
            f"OPTIONS = {kernel_macros(self._kernel.tunables)!r}",
            f"SOURCE = {_literal(self._kernel.text)}\n",
            HELPERS,
            TENSOR_MAP if self._plan.has_tensor_maps else "",
            f"INPUTS = {_table(self._task.inputs)}",
            f"OUTPUTS = {_table(self._task.outputs)}\n",
            self._shape_of(),
            self._sizes(shape),
            self._workspaces(shape),
            self._fits(shape),
            self._launches(shape),
            KERNELS,
            self._model(),
            self._examples(shape),
        ]
        return "\n".join(part if part.endswith("\n") else f"{part}\n" for part in parts)

    def _shape_of(self) -> str:
        given = "".join(f", {self._names[name]}" for name in self._solved.given)
        lines = [f"    {self._names[name]} = {text}" for name, text in self._solved.found]
        return _function(
            f"shape_of(inputs{given})",
            "The shape variables of a call, by name; `inputs` are the inputs' sizes.",
            [*lines, f"    return {_mapping(self._names.values(), self._names.values())}"],
        )

    def _sizes(self, shape: str) -> str:
        sizes = [self._extents(buffer) for buffer in self._task.buffers]
        names = [buffer.name for buffer in self._task.buffers]
        return _function(
            f"sizes({shape})",
            "The size of every input and output.",
            [f"    return {_mapping(names, sizes)}"],
        )

    def _extents(self, buffer: Buffer) -> str:
        numbers = [self._text.number(extent) for extent in buffer.shape]
        return f"({', '.join(numbers)}{',' if len(numbers) == 1 else ''})"

    def _workspaces(self, shape: str) -> str:
        entries = [
            f"(torch.{item.dtype}, {self._text.number(item.size)})" for item in self._plan.workspace
        ]
        return _function(
            f"workspaces({shape})",
            "Scratch buffers: type and number of elements.",
            [f"    return {_mapping([item.name for item in self._plan.workspace], entries)}"],
        )

    def _fits(self, shape: str) -> str:
        lines = [
            f"    if not ({self._text.condition(where)}):\n"
            f"        raise ValueError({f'the kernel needs a shape with {where}'!r})"
            for where in self._plan.where
            if self._text.condition(where) != "True"
        ]
        return _function(
            f"check({shape})",
            "ValueError for a shape that the kernel was not made for.",
            [*lines, "    return None"],
        )

    def _launches(self, shape: str) -> str:
        lines: list[str] = []
        for step in self._plan.launch:
            condition = "True" if step.when is None else self._text.condition(step.when)
            if condition == "False":
                continue
            indent = "    "
            if condition != "True":
                lines.append(f"    if {condition}:")
                indent = "        "
            lines.append(f"{indent}yield {self._step(step)}")
        return _function(
            f"launches({shape})",
            "The steps of a call: kernel (None: fill with zeros), grid, block, dynamic shared\n"
            "    memory in bytes, arguments; a buffer stands by its name.",
            lines,
        )

    def _step(self, step: Launch) -> str:
        if step.kernel is None:
            return f"None, (), (), 0, ({step.memset!r},)"
        grid = ", ".join(self._text.number(item) for item in step.grid)
        block = ", ".join(self._text.number(item) for item in step.block)
        arguments = "".join(f"{self._argument(item)}, " for item in step.args)
        shared = self._text.number(step.shared)
        return f"{step.kernel!r}, ({grid},), ({block},), {shared}, ({arguments.rstrip()})"

    def _argument(self, item: KernelArgument) -> str:
        memory = {buffer.name for buffer in self._task.buffers} | {
            item.name for item in self._plan.workspace
        }
        if isinstance(item, TensorMapArgument):
            return self._tensor_map(item)
        if isinstance(item, str | int):
            return repr(item) if item in memory else self._text.number(item)
        real = item.type.startswith("float")
        value = self._text.real(item.value) if real else self._text.number(item.value)
        return f"ctypes.{_CTYPES[item.type]}({value})"

    def _tensor_map(self, item: TensorMapArgument) -> str:
        box, shape = (
            f"({''.join(f'{self._text.number(axis)}, ' for axis in axes).rstrip()})"
            for axes in (item.box, item.shape)
        )
        swizzle = self._text.number(item.swizzle)
        return f"TensorMap({item.tensor_map!r}, {box}, {swizzle}, {shape if item.shape else None})"

    def _helpers(self) -> list[str]:
        return ["compile_cuda", *["tensor_map"] * self._plan.has_tensor_maps]

    def _model(self) -> str:
        timed, given = self._task.timed_workload.shape, self._solved.given
        held = "".join(f", {self._names[name]}={timed[name]}" for name in given)
        kept = _mapping(
            [self._names[name] for name in given], [self._names[name] for name in given]
        )
        inputs = ", ".join(self._inputs.values())
        outputs = ", ".join(f"memory[{buffer.name!r}]" for buffer in self._task.outputs)
        return MODEL.format(
            item="value_of(item, memory)" if self._plan.has_tensor_maps else ITEM,
            summary=_line(self._task.summary) or self._task.name,
            given=_given_words(given),
            init=held,
            kept=kept,
            parameters="".join(f", {name}" for name in self._inputs.values()),
            inputs=f"({inputs}{',' if len(self._inputs) == 1 else ''})",
            outputs=outputs,
        )

    def _examples(self, shape: str) -> str:
        timed = self._task.timed_workload.shape
        given = [timed[name] for name in self._solved.given]
        values = ", ".join(f"{self._names[name]}={timed[name]}" for name in self._variables)
        lines = [f"    size = sizes({values})", "    return ["]
        lines += [f"        {_drawn(buffer)}," for buffer in self._task.inputs]
        return (
            _function("get_init_inputs()", "The arguments of ModelNew.", [f"    return {given!r}"])
            + "\n"
            + _function(
                "get_inputs()",
                "Random inputs of the size that the kernel was timed with, on the current GPU.",
                [*lines, "    ]"],
            )
        )


def _docstring(kernel: Kernel) -> str:
    return (
        f'"""{_line(kernel.task.name)}: the kernel of node {kernel.origin.node} of a search by '
        f"Rooftree.\n\n{_line(kernel.origin.found)}. Needs PyTorch with CUDA, and nothing else.\n"
        f'"""\n'
    )


def _line(text: str) -> str:
    """One line that may stand in a docstring."""
    return " ".join(text.split()).replace("\\", "/").replace('"', "'")


def _given_words(given: tuple[str, ...]) -> str:
    if not given:
        return ""
    return f" The inputs' sizes do not tell {', '.join(given)}: give other\n    values here."


def _function(signature: str, words: str, lines: Iterable[str]) -> str:
    body = "\n".join(lines)
    return f'def {signature}:\n    """{words}"""\n{body}\n\n'


def _mapping(names: Iterable[str], values: Iterable[str]) -> str:
    entries = ", ".join(f"{name!r}: {value}" for name, value in zip(names, values, strict=True))
    return f"{{{entries}}}"


def _table(buffers: Iterable[Buffer]) -> str:
    entries: Mapping[str, str] = {item.name: f"torch.{item.dtype}" for item in buffers}
    return _mapping(entries.keys(), entries.values())


def _drawn(buffer: Buffer) -> str:
    size = f"size[{buffer.name!r}]"
    if buffer.dtype.startswith(("float", "bfloat")):
        draw = (
            f"torch.randn({size}, device='cuda')"
            if buffer.fill == "normal"
            else f"torch.rand({size}, device='cuda').mul_(2).sub_(1)"
        )
        return f"{draw}.to(torch.{buffer.dtype})"
    low = 0 if buffer.dtype == "uint8" else -8
    return f"torch.randint({low}, {low + 16}, {size}, dtype=torch.{buffer.dtype}, device='cuda')"


def _literal(source: str) -> str:
    """The source as a string literal, raw and over several lines where Python can read that."""
    if any(sign in source for sign in ("'''", "\r", "\0")) or source.endswith(("'", "\\")):
        return repr("\n" + source)
    return f"r'''\n{source}'''"
