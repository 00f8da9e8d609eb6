"""The steps of a launch plan as C++ statements: zero fills and kernel launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codegen.export.cpp_text import CppText
from mcts.domain import (
    ITEM_BYTES,
    Buffer,
    KernelTask,
    Launch,
    LaunchPlan,
    ScalarArgument,
    TensorMapArgument,
)

CPP_TYPES = {
    "float64": "double", "float32": "float", "float16": "__half", "bfloat16": "__nv_bfloat16",
    "int64": "std::int64_t", "int32": "std::int32_t", "int8": "std::int8_t",
    "uint8": "std::uint8_t", "uint32": "std::uint32_t",
}  # fmt: skip
_LIMITS = {
    "int32": "-2147483647 - 1, 2147483647",
    "uint32": "0, 4294967295LL",
}
_TENSOR_TYPES = {
    "float64": "FLOAT64", "float32": "FLOAT32", "float16": "FLOAT16", "bfloat16": "BFLOAT16",
    "int64": "INT64", "int32": "INT32", "int8": "UINT8", "uint8": "UINT8",
}  # fmt: skip
_GRID = (2**31 - 1, 65535, 65535)
_BLOCK = (1024, 1024, 64)


class Steps:
    """Writes steps; `memory` says what buffers and workspaces are called.

    The statements stand in a loop that goes through them twice, first to see that all `fits`, then,
    `checked`, to queue them on `stream`.
    """

    def __init__(
        self, task: KernelTask, plan: LaunchPlan, text: CppText, memory: Mapping[str, str]
    ) -> None:
        self._task, self._plan, self._text, self._memory = task, plan, text, memory

    def lines(self, step: Launch) -> list[str]:
        condition = "true" if step.when is None else self._text.condition(step.when)
        if condition == "false":
            return []
        opening = "        {" if condition == "true" else f"        if ({condition}) {{"
        body = self._memset(step.memset) if step.memset is not None else self._kernel(step)
        return [opening, *(f"            {line}" for line in body), "        }"]

    def _memset(self, name: str) -> list[str]:
        sizes: dict[str, str] = {item.name: self._elements(item) for item in self._task.buffers}
        dtypes: dict[str, str] = {item.name: item.dtype for item in self._task.buffers}
        for item in self._plan.workspace:
            sizes[item.name] = f"({self._text.number(item.size)})"
            dtypes[item.name] = item.dtype
        bytes_ = f"(std::size_t)({sizes[name]} * {ITEM_BYTES[dtypes[name]]})"
        return [
            f"if (checked) error = cudaMemsetAsync({self._memory[name]}, 0, {bytes_}, stream);",
            "if (error != cudaSuccess) return error;",
        ]

    def _elements(self, buffer: Buffer) -> str:
        return " * ".join(f"({self._text.number(axis)})" for axis in buffer.shape)

    def _kernel(self, step: Launch) -> list[str]:
        lines = [
            f"const dim3 grid({self._extents(step.grid, _GRID)});",
            f"const dim3 block({self._extents(step.block, _BLOCK)});",
            f"const std::size_t shared = {_within(self._text.number(step.shared), 0, 2**31 - 1)};",
        ]
        names = []
        for number, item in enumerate(step.args):
            if isinstance(item, TensorMapArgument):
                lines += self._tensor_map(item, f"argument_{number}")
            else:
                lines.append(f"{self._argument(item, f'argument_{number}')};")
            names.append(f"&argument_{number}")
        arguments = f"void* arguments[] = {{{', '.join(names) or 'nullptr'}}};"
        return [
            *lines,
            arguments,
            "if (!fits || block.x * block.y * block.z > 1024) return cudaErrorInvalidValue;",
            f"const void* kernel = reinterpret_cast<const void*>(&kernels::{step.kernel});",
            "if (checked) error = plan::launch(kernel, grid, block, arguments, shared, stream);",
            "if (error != cudaSuccess) return error;",
        ]

    def _extents(self, items: Sequence[str | int], limits: tuple[int, int, int]) -> str:
        return ", ".join(
            f"(unsigned){_within(self._text.number(item), 1, limit)}"
            for item, limit in zip(items, limits, strict=False)
        )

    def _tensor_map(self, item: TensorMapArgument, name: str) -> list[str]:
        buffer = next((one for one in self._task.buffers if one.name == item.tensor_map), None)
        if buffer is None:
            scratch = {one.name: one.dtype for one in self._plan.workspace}
            shape, dtype = item.shape, scratch[item.tensor_map]
        else:
            shape, dtype = item.shape or buffer.shape, buffer.dtype
        extents, box = (
            ", ".join(self._text.number(axis) for axis in reversed(axes))
            for axes in (shape, item.box)
        )
        return [
            f"const long long {name}_shape[] = {{{extents}}}, {name}_box[] = {{{box}}};",
            f"CUtensorMap {name};",
            f"fits = fits && plan::tensor_map({name}, {self._memory[item.tensor_map]},",
            f"    CU_TENSOR_MAP_DATA_TYPE_{_TENSOR_TYPES[dtype]}, {ITEM_BYTES[dtype]}, "
            f"{len(shape)}, {name}_shape, {name}_box, {self._text.number(item.swizzle)});",
        ]

    def _argument(self, item: str | int | ScalarArgument, name: str) -> str:
        if isinstance(item, str) and item in self._memory:
            buffer = next((one for one in self._task.buffers if one.name == item), None)
            constant = "const " if buffer is not None and buffer.role == "input" else ""
            return f"{constant}void* {name} = {self._memory[item]}"
        kind = item.type if isinstance(item, ScalarArgument) else "int32"
        value = item.value if isinstance(item, ScalarArgument) else item
        if kind.startswith("float"):
            return f"{CPP_TYPES[kind]} {name} = ({CPP_TYPES[kind]})({self._text.real(value)})"
        number = self._text.number(value)
        if kind in _LIMITS:
            number = f"plan::within({number}, {_LIMITS[kind]}, fits)"
        return f"{CPP_TYPES[kind]} {name} = ({CPP_TYPES[kind]})({number})"


def _within(text: str, low: int, high: int) -> str:
    """A number in its range; one that is known to lie there stands as it is."""
    if text.isdigit() and low <= int(text) <= high:
        return text
    return f"plan::within({text}, {low}, {high}, fits)"
