"""What the addresses in a loop say about the number of copies of its body.

A body that reads ``x[i]``, copied four times, reads at four equal distances from one register that
advances by four times the distance.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from profilers.sass.induction import LoopMotions, ValueMotion
from profilers.sass.listing import Instruction

_ADDRESS = re.compile(
    r"(U?R\d{1,3})(?:\.\w+)?(?:\+(U?R\d{1,3})(?:\.\w+)?)?(?:\+(-?0x[0-9a-f]{1,8}))?"
)
_ACCESSES = frozenset({"LDG", "LD", "LDS", "LDSM", "LDL", "STG", "ST", "STS", "STSM", "STL"})
_FOLLOWED_SHARE = 0.75


@dataclass(slots=True)
class Stream:
    """Accesses that advance together: by `advance` bytes per iteration, `width` bytes each.

    `rows` holds offsets by base register. Two registers may walk through one array in step, at a
    distance that was set before the loop.
    """

    advance: int
    width: int
    rows: dict[str, set[int]] = field(default_factory=dict)

    @property
    def covers_all(self) -> bool:
        """Whether it advances by what it accessed, which fits any number of copies."""
        return sum(map(len, self.rows.values())) * self.width >= self.advance

    def allows(self, copies: int) -> bool:
        """Whether the offsets form rows of at least `copies`, equally spaced over the advance."""
        spacing, uneven = divmod(self.advance, copies)
        if uneven:
            return False
        pieces = 0
        for offsets in self.rows.values():
            members = Counter(offset % spacing for offset in offsets)
            if min(members.values()) < copies:
                if len(members) > 1:
                    return False
                pieces += len(offsets)
        return pieces % copies == 0


def streams(motions: LoopMotions) -> list[Stream]:
    """The streams that tell something; empty if too few accesses can be followed."""
    found: dict[object, Stream] = {}
    accesses = followed = 0
    for position, instruction in enumerate(motions.code):
        if instruction.operation.opcode not in _ACCESSES:
            continue
        accesses += 1
        place = _place(instruction, position, motions)
        if place is None:
            continue
        followed += 1
        motion, fixed, offset = place
        amount = motion.advance.amount
        width = int(instruction.operation.width or 32) // 8
        stream = found.setdefault(
            (amount, motion.factor, motion.fixed, fixed), Stream(amount, width)
        )
        stream.rows.setdefault(motion.root, set()).add(motion.offset + offset)
    if followed < _FOLLOWED_SHARE * accesses:
        return []
    return [stream for stream in found.values() if not stream.covers_all]


def _place(
    instruction: Instruction, position: int, motions: LoopMotions
) -> tuple[ValueMotion, str, int] | None:
    """The motion of the address, its fixed register if it has one, and its offset."""
    address = instruction.operands.rpartition("[")[2].partition("]")[0]
    parts = _ADDRESS.fullmatch(address)
    if parts is None:
        return None
    registers = [name for name in parts.group(1, 2) if name]
    fixed = [name for name in registers if motions.fixed_value(name, position) is not None]
    moved = [name for name in registers if name not in fixed]
    if len(moved) != 1:
        return None
    motion = motions.of(moved[0], position)
    if motion is None or motion.advance.counted:
        return None
    return motion, "".join(fixed), int(parts.group(3) or "0", 16)
