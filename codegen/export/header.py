"""The best kernel as a C++ header: its source and a typed host function that launches it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from codegen.export.cpp_text import HELPERS, TENSOR_MAP_HELPER, CppText
from codegen.export.header_source import header_source
from codegen.export.header_steps import CPP_TYPES, Steps
from codegen.export.kernel import Kernel
from codegen.export.naming import identifiers
from mcts.domain import ITEM_BYTES, Workspace

_TYPE_HEADERS = {"float16": "<cuda_fp16.h>", "bfloat16": "<cuda_bf16.h>"}
_ALIGNMENT = 256
_OWN = frozenset(
    {
        *("stream", "fits", "error", "grid", "block", "shared", "arguments", "workspace"),
        *(
            "kernels",
            "launch",
            "workspace_bytes",
            "std",
            "rooftree",
            "plan",
            "scratch",
            "checked",
            "kernel",
        ),
    }
)
_HEAD = """\
// {title}
//
// {found}.
// Found by Rooftree (node {node} of a search with seed {seed}); written by `rooftree export`.
//
//     nvcc -std=c++17 {target} program.cu        // program.cu includes this file
//
// rooftree::{namespace}::launch() queues the call on a stream and returns what the runtime says;
// cudaErrorInvalidValue where the kernel has no launch for the shape. Neither waits nor allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
{includes}
{helpers}
namespace rooftree {{
namespace {namespace} {{

namespace kernels {{
namespace {{
{before}
#pragma nv_diagnostic push
#pragma nv_diag_suppress 177
{source}
#pragma nv_diagnostic pop
{after}
}}  // namespace
}}  // namespace kernels

"""


def header(kernel: Kernel) -> str:
    """The header of a kernel with a launch plan. InputError if the plan cannot be written in C++,
    saying why.
    """
    return _Header(kernel).text()


def namespace_of(name: str) -> str:
    """A task's name as a namespace within that of all exported headers."""
    return identifiers([name], taken=_OWN)[name]


class _Header:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self._task, self._plan = kernel, kernel.task, kernel.plan
        self._variables = tuple(self._task.timed_workload.shape)
        buffers = [buffer.name for buffer in self._task.buffers]
        scratch = [item.name for item in self._plan.workspace]
        most = max(len(step.args) for step in self._plan.launch)
        own = _OWN | {
            f"argument_{number}{part}" for number in range(most) for part in ("", "_shape", "_box")
        }
        self._memory = identifiers([*buffers, *scratch], taken=own)
        self._names = identifiers(self._variables, taken=own | set(self._memory.values()))
        self._text = CppText(kernel.tunables, self._names)

    def text(self) -> str:
        kernel = self._kernel
        pieces = header_source(kernel.text, kernel.tunables)
        used = [_TYPE_HEADERS[kind] for kind in _TYPE_HEADERS if kind in self._dtypes()]
        includes = list(dict.fromkeys((*used, *pieces.includes)))
        namespace = namespace_of(self._task.name)
        head = _HEAD.format(
            title=_comment(f"{self._task.name}: {self._task.summary}".removesuffix(": ")),
            found=_comment(kernel.origin.found),
            node=kernel.origin.node,
            seed=kernel.origin.seed,
            target=kernel.origin.nvcc_target,
            namespace=namespace,
            includes="".join(f"#include {item}\n" for item in includes),
            helpers=HELPERS + TENSOR_MAP_HELPER * self._plan.has_tensor_maps,
            before=pieces.before,
            source=pieces.kernels,
            after=pieces.after,
        )
        parts = [self._workspace_bytes(), self._launch()]
        end = f"\n}}  // namespace {namespace}\n}}  // namespace rooftree\n"
        return head + "\n".join(part for part in parts if part) + end

    def _dtypes(self) -> set[str]:
        return {buffer.dtype for buffer in self._task.buffers}

    def _shape(self) -> str:
        return ", ".join(f"long long {name}" for name in self._names.values())

    def _checks(self) -> list[str]:
        """Lines that set `fits`: every axis positive, every `where` of the plan."""
        axes = dict.fromkeys(
            self._text.number(axis) for buffer in self._task.buffers for axis in buffer.shape
        )
        lines = [f"    bool fits = {' && '.join(f'{name} > 0' for name in self._names.values())};"]
        if not self._names:
            lines = ["    bool fits = true;"]
        known = {*self._names.values()}
        lines += [
            f"    fits = fits && ({axis}) > 0;"
            for axis in axes
            if axis not in known and not axis.isdigit()
        ]
        for where in self._plan.where:
            condition = self._text.condition(where)
            if condition != "true":
                lines.append(f"    fits = fits && ({condition});  // {_comment(where)}")
        return lines

    def _workspace_bytes(self) -> str:
        if not self._plan.workspace:
            return ""
        lines = [f"    bytes += {self._aligned(item)};" for item in self._plan.workspace]
        body = " ".join(lines)
        lines += [
            f"    (void){name};"
            for name in self._names.values()
            if not re.search(rf"\b{name}\b", body)
        ]
        return (
            "// Bytes of scratch memory that a call needs, 0 for a shape without a launch.\n"
            f"static inline std::size_t workspace_bytes({self._shape()})\n{{\n"
            "    bool fits = true;\n    long long bytes = 0;\n"
            + "\n".join(lines)
            + "\n    return fits ? (std::size_t)bytes : 0;\n}\n"
        )

    def _aligned(self, item: Workspace) -> str:
        count = self._text.number(item.size)
        size = f"({count}) * {ITEM_BYTES[item.dtype]}"
        return f"({size} + {_ALIGNMENT - 1}) / {_ALIGNMENT} * {_ALIGNMENT}"

    def _launch(self) -> str:
        lines = [f"// {_comment(words)}" for words in self._documentation()]
        parameters = ",\n                                 ".join(self._parameters())
        lines += [f"static inline cudaError_t launch({parameters})", "{"]
        lines += [*self._checks(), "    if (!fits) return cudaErrorInvalidValue;"]
        lines += ["    cudaError_t error = cudaSuccess;"]
        lines += self._scratch()
        steps = Steps(self._task, self._plan, self._text, self._memory)
        lines.append("    for (int checked = 0; checked < 2; ++checked) {  // all fits, then go")
        for step in self._plan.launch:
            lines += steps.lines(step)
        return "\n".join([*lines, "    }", "    return error;", "}", ""])

    def _documentation(self) -> Sequence[str]:
        lines = [
            f"{self._memory[buffer.name]}: {buffer.role}, {buffer.dtype}, "
            f"[{', '.join(map(str, buffer.shape))}], contiguous"
            for buffer in self._task.buffers
        ]
        if self._plan.workspace:
            lines.append(
                f"workspace: workspace_bytes() bytes, aligned to {_ALIGNMENT}, for one call at a "
                "time"
            )
        return lines

    def _parameters(self) -> Iterator[str]:
        """Inputs, outputs, scratch memory, shape variables, stream: a line each."""
        for role in ("input", "output"):
            pointers = [
                f"{'const ' * (role == 'input')}{CPP_TYPES[buffer.dtype]}* "
                f"{self._memory[buffer.name]}"
                for buffer in self._task.buffers
                if buffer.role == role
            ]
            if pointers:
                yield ", ".join(pointers)
        if self._plan.workspace:
            yield "void* workspace"
        if self._names:
            yield self._shape()
        yield "cudaStream_t stream = nullptr"

    def _scratch(self) -> list[str]:
        if not self._plan.workspace:
            return []
        lines = ["    char* scratch = static_cast<char*>(workspace);"]
        for item in self._plan.workspace:
            lines.append(f"    [[maybe_unused]] void* {self._memory[item.name]} = scratch;")
            lines.append(f"    scratch += {self._aligned(item)};")
        lines.append("    if (!fits) return cudaErrorInvalidValue;")
        return [*lines, "    (void)scratch;"]


def _comment(text: str) -> str:
    """One line that may stand behind ``//``."""
    return " ".join(text.split()).replace("\\", "/").replace("??/", "??")
