"""What an instruction writes and compares, and its result if that is a linear sum."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from profilers.sass.listing import Instruction
from profilers.sass.opcodes import multiplies_zeros

_REGISTER = re.compile(r"U?R\d{1,3}")
_PREDICATE = re.compile(r"!?U?P(?:\d{1,2}|T)")
_IMMEDIATE = re.compile(r"(-?)0x([0-9a-f]{1,16})")
_ZEROS = frozenset({"RZ", "URZ"})
SUMS = frozenset({"IADD", "IADD3", "IADD32I", "VIADD", "UIADD3", "UVIADD"})
_MOVES = frozenset({"MOV", "UMOV", "R2UR"})
_CONSTANTS = frozenset({"LDC", "ULDC", "LDCU", "S2R", "S2UR"})
_REGISTERS_OF = {"64": 2, "WIDE": 2, "F64": 2, "128": 4, "256": 8}
_COMPARISONS = ("SETP", "SETP2", "PLOP3")


@dataclass(frozen=True, slots=True)
class Linear:
    """Values by name, each times a factor (None: not a constant), plus `constant`.

    For a shift to the right, which is not a sum, `shift` is the number of bits.
    """

    terms: tuple[tuple[str, int | None], ...]
    constant: int = 0
    shift: int = 0


def written(instruction: Instruction) -> tuple[str, ...]:
    """Registers and predicates that `instruction` writes, by name."""
    if instruction.operation.kind == "control":
        return ()
    return _destinations(instruction.mnemonic, instruction.operands)


@lru_cache(maxsize=1 << 14)
def _destinations(mnemonic: str, operands: str) -> tuple[str, ...]:
    registers: list[str] = []
    predicates: list[str] = []
    opcode, *modifiers = mnemonic.split(".")
    for operand in operands.split(",", 3)[:3]:
        name = _name(operand)
        if _PREDICATE.fullmatch(name):
            predicates.append(name)
        elif _REGISTER.fullmatch(name) and not registers:
            size = 2 if opcode.startswith("D") else 1
            size = max([size, *(_REGISTERS_OF.get(part, 1) for part in modifiers)])
            registers = _from(name, size)
        else:
            break
    if opcode.endswith(_COMPARISONS):
        return tuple(predicates[:2])  # what follows are sources
    return (*registers, *predicates)


def _from(name: str, size: int) -> list[str]:
    """`name` and the registers after it, `size` in all: a 64-bit value takes two."""
    bank = name.rstrip("0123456789")
    first = int(name[len(bank) :])
    return [f"{bank}{first + offset}" for offset in range(size)]


def compared(instruction: Instruction) -> list[str]:
    """Registers and predicates from which an instruction sets a predicate."""
    names = [_name(operand) for operand in instruction.operands.split(",")[2:]]
    return [
        name
        for name in names
        if _REGISTER.fullmatch(name) or (_PREDICATE.fullmatch(name) and not name.endswith("T"))
    ]


def reads_constant(instruction: Instruction) -> bool:
    """Whether `instruction` loads a kernel argument or another value that never changes."""
    if instruction.guard or instruction.opcode not in _CONSTANTS:
        return False
    return "R" not in instruction.operands.partition(",")[2] or instruction.opcode in (
        "S2R",
        "S2UR",
    )


def as_linear(
    instruction: Instruction, constant_of: Callable[[str], int | None] = lambda _name: None
) -> Linear | None:
    """The result of `instruction` as a linear sum; None if it is not a sum, move or shift.

    `constant_of` returns the value of registers that hold a constant. Wrapping at 32 bits is
    ignored; of a 64-bit sum in two halves, the lower one stands for both.
    """
    if instruction.guard not in ("", "@PT", "@UPT"):
        return None
    opcode, *modifiers = instruction.mnemonic.split(".")
    operands = [part.strip() for part in instruction.operands.split(",")[1:]]
    operands = [part for part in operands if not _PREDICATE.fullmatch(part)]
    if opcode in _MOVES:
        return _sum(operands)
    if opcode == "HFMA2":
        return _halves(operands)
    if opcode in ("SHF", "USHF") and len(operands) == 3:
        return _shifted(operands, modifiers)
    if "X" in modifiers or "HI" in modifiers:
        return None
    if opcode in SUMS:
        return _sum(operands)
    if opcode in ("IMAD", "UIMAD") and len(operands) == 3:
        return _plus(_product(operands[0], operands[1], constant_of), _sum(operands[2:]))
    if opcode in ("LEA", "ULEA") and len(operands) == 3:
        places = _constant(operands[2])
        if places is not None and 0 <= places < 32:
            return _plus(_product(operands[0], hex(1 << places)), _sum(operands[1:2]))
    return None


def _sum(operands: Sequence[str]) -> Linear:
    terms: list[tuple[str, int | None]] = []
    constant = 0
    for operand in operands:
        value = _constant(operand)
        if value is not None:
            constant += value
        elif _name(operand) not in _ZEROS:
            terms.append((_name(operand), -1 if operand.startswith("-") else 1))
    return Linear(tuple(terms), constant)


def _product(
    left: str, right: str, constant_of: Callable[[str], int | None] = lambda _name: None
) -> Linear:
    if {_name(left), _name(right)} & _ZEROS:
        return Linear(())
    for factor, other in ((_constant(right), left), (_constant(left), right)):
        if factor is not None:
            return Linear(((_name(other), factor),))
    for factor, other in ((constant_of(_name(right)), left), (constant_of(_name(left)), right)):
        if factor is not None:
            return Linear(((_name(other), factor),))
    return Linear(((_name(left), None), (_name(right), None)))


def _halves(operands: Sequence[str]) -> Linear | None:
    """Two half-precision constants moved into a register, as the integer of their bits."""
    if not multiplies_zeros(operands) or len(operands) != 4:
        return None
    try:
        low, high = (struct.pack("<e", float(operand)) for operand in reversed(operands[2:]))
    except (ValueError, OverflowError, struct.error):
        return None
    return Linear((), int.from_bytes(low + high, "little"))


def _plus(left: Linear, right: Linear) -> Linear:
    return Linear(left.terms + right.terms, left.constant + right.constant)


def _shifted(operands: Sequence[str], modifiers: Sequence[str]) -> Linear | None:
    """A funnel shift with one side zero, which is a plain shift."""
    places = _constant(operands[1])
    low, high = _name(operands[0]), _name(operands[2])
    if places is None or not 0 <= places < 32:
        return None
    if "L" in modifiers and high in _ZEROS and "HI" not in modifiers:
        return _product(operands[0], hex(1 << places))
    if "R" in modifiers and low in _ZEROS and high not in _ZEROS:
        return Linear(((high, 1),), shift=places)
    return None


def _name(operand: str) -> str:
    return operand.strip().lstrip("-~!").partition(".")[0]


def _constant(operand: str) -> int | None:
    found = _IMMEDIATE.fullmatch(operand)
    if found is None:
        return None
    value = int(found.group(2), 16)
    if not found.group(1) and 1 << 31 <= value < 1 << 32:
        value -= 1 << 32  # printed without its sign
    return -value if found.group(1) else value
