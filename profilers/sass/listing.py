"""Parses listings of `nvdisasm` and `cuobjdump`: kernels, their instructions, labels and lines.

A listing may be gigabytes long and malformed: lines are read one by one, every step is linear in
the length of a line, and what is not understood is skipped.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mcts.errors import WorldError
from profilers.sass.opcodes import Operation, operation, with_operands

LONGEST_LINE = 1 << 16
"""Characters of a line that are read."""

_LONGEST_CODE = 1024
_MOST_INSTRUCTIONS = 4_000_000
_SECTION = re.compile(r"\s*\.text\.([\w$.]+):")
_FUNCTION = re.compile(r"\s*Function\s*:?\s+([\w$.]+):?\s*$")
_KIND = re.compile(r'\s*\.(type|other)\s+([\w$.]+),@(?:function\b|"STO_CUDA_ENTRY\b)')
_LABEL = re.compile(r"\s*(\.L_[\w.]+|\$[\w$.]+):")
_SOURCE = re.compile(
    r'//## File "([^"]*)", line (\d{1,9})(?: inlined at "([^"]*)", line (\d{1,9}))?'
)
_RESOURCE = re.compile(r"\b(REG|STACK|SHARED):(\d{1,9})\b")
_HEX = re.compile(r"[0-9a-f]{4,16}")

Place = tuple[str, int]
"""A file and a line in it, from 1."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. `guard` is its predicate (``@!P0``) or "".

    `targets` are labels that the disassembler names in an annotation. `places` are where in the
    source it comes from, innermost inlined call first; () if unknown.
    """

    address: int
    guard: str
    mnemonic: str
    operands: str
    operation: Operation
    targets: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    opcode: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "opcode", sys.intern(self.mnemonic.partition(".")[0]))

    @property
    def text(self) -> str:
        """The whole instruction, without annotations."""
        return " ".join(filter(None, (self.guard, self.mnemonic, self.operands)))


@dataclass(slots=True)
class Function:
    """One kernel with the subroutines in its section; labels are by the instruction they precede.

    `resources` are those of `cuobjdump -res-usage`: REG, STACK, SHARED. `declared`: the listing
    says what kind of function it is; `launched`: it says that it is a kernel.
    """

    name: str
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    resources: dict[str, int] = field(default_factory=dict)
    declared: bool = False
    launched: bool = False

    @property
    def is_kernel(self) -> bool:
        """Whether the host may launch it; assumed if the listing does not say."""
        return self.launched or not self.declared


def read_functions(lines: Iterable[str]) -> Iterator[Function]:
    """Yield the functions of a listing in order, each as soon as it ends.

    Reads `nvdisasm -c` with or without `-g` or `-gi`, `cuobjdump -sass` and `-res-usage`, one
    after the other. A name may come more than once, with its code and with its resources. Raises
    WorldError for a kernel of more than four million instructions.
    """
    current: Function | None = None
    declared: set[str] = set()
    launched: set[str] = set()
    places: tuple[Place, ...] = ()
    place_ended = False
    for line in lines:
        line = line[:LONGEST_LINE]
        if current is not None and (found := _instruction(line, places)):
            current.instructions.append(found)
            if len(current.instructions) > _MOST_INSTRUCTIONS:
                raise WorldError(f"the listing of {current.name[:80]} is too long to be read")
            place_ended = True
        elif name := _SECTION.match(line) or _FUNCTION.match(line):
            if current is not None:
                yield _finished(current, declared, launched)
            current, places = Function(name.group(1)), ()
        elif kind := _KIND.match(line):
            (launched if kind.group(1) == "other" else declared).add(kind.group(2))
        elif current is None:
            continue
        elif "//##" in line:
            places = _places(line, () if place_ended else places)
            place_ended = False
        elif label := _LABEL.match(line):
            current.labels[label.group(1)] = len(current.instructions)
        elif ":" in line:
            current.resources.update((key, int(n)) for key, n in _RESOURCE.findall(line))
    if current is not None:
        yield _finished(current, declared, launched)


def _finished(function: Function, declared: set[str], launched: set[str]) -> Function:
    function.declared = function.name in declared
    function.launched = function.name in launched
    return function


def _instruction(line: str, places: tuple[Place, ...]) -> Instruction | None:
    start = line.lstrip(" \t{")
    if not start.startswith("/*"):
        return None
    address, closed, rest = start[2:].partition("*/")
    code, ended, _ = rest.partition(";")
    if not closed or not ended or not _HEX.fullmatch(address):
        return None
    code, targets = _without_annotations(code.strip(" \t{"))
    guard, bare = "", code
    if code.startswith("@"):
        guard, _, bare = code.partition(" ")
    mnemonic, _, operands = bare.lstrip().partition(" ")
    if not mnemonic or len(code) > _LONGEST_CODE:
        return None
    operands = operands.strip()
    meant = with_operands(operation(mnemonic), mnemonic, operands)
    return Instruction(
        int(address, 16), sys.intern(guard), sys.intern(mnemonic), operands, meant, targets, places
    )


def _without_annotations(code: str) -> tuple[str, tuple[str, ...]]:
    """`code` without its annotations, ``(*"..."*)``, and the branch targets that these name."""
    if "(*" not in code:
        return code, ()
    kept: list[str] = []
    targets: list[str] = []
    while True:
        before, opened, rest = code.partition("(*")
        note, closed, after = rest.partition("*)")
        if not closed:
            kept.append(before + opened + rest)
            return "".join(kept).strip(), tuple(targets)
        kept.append(before)
        if "BRANCH_TARGETS" in note:
            targets += [f".L_{part}" for part in _label_ends(note)]
        code = after


def _label_ends(note: str) -> list[str]:
    return [part.split(",")[0].rstrip(' "') for part in note.split(".L_")[1:]]


def _places(line: str, before: tuple[Place, ...]) -> tuple[Place, ...]:
    """`before` with the place that `line` names and its caller, which the next line repeats."""
    found = _SOURCE.search(line)
    if found is None:
        return before
    file, number, caller, caller_line = found.groups()
    place = (file, int(number))
    known = before[:-1] if before and before[-1] == place else before
    outer = ((caller, int(caller_line)),) if caller else ()
    return (*known, place, *outer)
