"""Machine code beside the source lines that it came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from profilers.sass.facts import SourceLines
from profilers.sass.listing import Function, Instruction, read_functions
from profilers.sass.tools import required_tool, tool_lines


@dataclass(frozen=True, slots=True)
class CodedLine:
    """A source line, from 1, with its instructions in the order of their addresses, each as
    ``0170 LDG.E.128 R4, [R2.64]``. `line` is None for those that name no line of the file."""

    line: int | None
    instructions: tuple[str, ...]


def read_code(cubin: Path) -> dict[str, tuple[CodedLine, ...]]:
    """Per kernel, by the linker's name, its source lines that became code, in the file's order.

    Of inlined functions the line that calls them counts. Raises WorldError when nvdisasm is absent
    or cannot read the file.
    """
    listing = tool_lines(required_tool("nvdisasm"), "-gi", "-c", str(cubin))
    return {
        function.name: code_by_line(function)
        for function in read_functions(listing)
        if function.is_kernel and function.instructions
    }


def code_by_line(function: Function) -> tuple[CodedLine, ...]:
    """The function's instructions by source line; padding at its end is left out."""
    places = SourceLines(function.instructions)
    lines: dict[int | None, list[str]] = {}
    for instruction in _unpadded(function.instructions):
        text = f"{instruction.address:04x} {instruction.text}"
        lines.setdefault(places.line_of(instruction), []).append(text)
    ordered = sorted(lines, key=lambda line: (line is None, line or 0))
    return tuple(CodedLine(line, tuple(lines[line])) for line in ordered)


def _unpadded(code: list[Instruction]) -> list[Instruction]:
    """Without the NOPs with which the assembler fills the section."""
    end = len(code)
    while end and code[end - 1].opcode == "NOP":
        end -= 1
    return code[:end]
