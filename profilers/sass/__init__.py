"""Facts from machine code: what the compiler actually generated for a kernel.

Needs no GPU and no counters: `nvdisasm` prints a cubin's instructions, `cuobjdump` its registers
and memory, and the cubins in a compiled program. Both come as pip wheels.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from mcts.domain import SassFacts
from mcts.errors import WorldError
from profilers.compiling.toolchain import find_tool
from profilers.sass.binaries import best_architecture, cubins_in, extract_cubins, readable_names
from profilers.sass.facts import facts_of, with_resources
from profilers.sass.listing import read_functions
from profilers.sass.tools import required_tool, tool_lines

_MOST_CUBINS = 64
"""Cubins of a program that are read one by one, with source lines; the rest in one listing."""


def read_sass(cubin: Path) -> dict[str, SassFacts]:
    """Facts per kernel of `cubin`, by the kernel's name as the linker knows it.

    Raises WorldError when nvdisasm is absent or cannot read the file. Without cuobjdump, registers
    and memory stay unknown; without line information in the file, so do the source lines.
    """
    nvdisasm = required_tool("nvdisasm")
    try:
        facts = parse_lines(tool_lines(nvdisasm, "-gi", "-c", str(cubin)))
    except WorldError:  # unreadable line information must not cost everything else
        facts = parse_lines(tool_lines(nvdisasm, "-c", str(cubin)))
    cuobjdump = find_tool("cuobjdump")
    if cuobjdump is None:
        return facts
    usage = tool_lines(cuobjdump, "-res-usage", str(cubin))
    resources = {function.name: function.resources for function in read_functions(usage)}
    return {name: with_resources(one, resources.get(name, {})) for name, one in facts.items()}


def read_executable_sass(program: Path, arch: str) -> dict[str, SassFacts]:
    """Facts per kernel that `program` would run on a device of `arch` ("sm_90a").

    `program` is an executable, a shared library, a fatbin or a cubin. Names are as a profiler shows
    them, without parameters and template arguments; kernels that would then share a name keep more
    of it. Raises WorldError if it holds no machine code for the device, or a tool is absent.
    """
    cuobjdump = required_tool("cuobjdump")
    inside = cubins_in(program, cuobjdump)
    chosen = best_architecture([cubin.arch for cubin in inside], arch)
    if chosen is None:
        held = ", ".join(sorted({cubin.arch for cubin in inside})) or "none"
        raise WorldError(
            f"{program.name} holds no machine code for {arch} (it holds: {held}); "
            f"compile it with -arch={arch}"
        )
    facts: dict[str, SassFacts] = {}
    with tempfile.TemporaryDirectory(prefix="rooftree-sass-") as folder:
        for cubin in extract_cubins(program, cuobjdump, chosen, Path(folder))[:_MOST_CUBINS]:
            for name, found in read_sass(cubin).items():
                facts.setdefault(name, found)
    names = [cubin.name for cubin in inside if cubin.arch == chosen]
    # Of several cubins with the same name only the last was extracted.
    if len(set(names)) < len(names) or len(names) > _MOST_CUBINS:
        listing = tool_lines(cuobjdump, "-sass", "-res-usage", "-arch", chosen, str(program))
        for name, found in parse_lines(listing).items():
            facts.setdefault(name, found)
    readable = readable_names(list(facts))
    return {readable[name]: found for name, found in facts.items()}


def parse_lines(lines: Iterable[str]) -> dict[str, SassFacts]:
    """Facts per kernel from `nvdisasm -c` with or without `-g` or `-gi`, or `cuobjdump -sass`.

    Either may be followed by `cuobjdump -res-usage`. Keeps the instructions of one kernel at a
    time; if a name is repeated, its first code counts. Pure; unknown lines are skipped.
    """
    facts: dict[str, SassFacts] = {}
    resources: dict[str, dict[str, int]] = {}
    for function in read_functions(lines):
        resources.setdefault(function.name, {}).update(function.resources)
        if function.instructions and function.is_kernel and function.name not in facts:
            found = facts_of(function)
            if found.instructions:
                facts[function.name] = found
    return {name: with_resources(found, resources[name]) for name, found in facts.items()}
