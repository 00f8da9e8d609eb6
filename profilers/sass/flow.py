"""The control flow of a kernel's machine code: basic blocks and their successors."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from profilers.sass.listing import Function, Instruction
from profilers.sass.opcodes import BRANCHES

_REFERENCE = re.compile(r"`?\(?(\.L_[\w.]+|\$[\w$.]+)\)?")
_ADDRESS = re.compile(r"\b0x[0-9a-f]{1,16}$")
_ENDS = frozenset({"EXIT", "RET", "KILL", "BPT"})
_SYNC = "BSYNC"
_RECONVERGENCE = "BSSY"
_CALL = "CALL"
JUMPS = BRANCHES | {_CALL}


@dataclass(frozen=True, slots=True)
class Flow:
    """Blocks in the order of the listing.

    Block `i` holds the instructions from `starts[i]` to before `starts[i + 1]` (`starts` has one
    entry more than there are blocks); `successors[i]` are the blocks that may follow it; `entries`
    are the kernel's own start and what only a computed jump can reach.
    """

    starts: tuple[int, ...]
    successors: tuple[tuple[int, ...], ...]
    entries: tuple[int, ...]

    def block_of(self, instruction: int) -> int:
        return bisect_right(self.starts, instruction) - 1


class Targets:
    """Resolves labels and addresses in the text of a function's instructions."""

    def __init__(self, function: Function) -> None:
        self._labels = function.labels
        self._positions = {
            instruction.address: index for index, instruction in enumerate(function.instructions)
        }

    def of(self, instruction: Instruction) -> list[int]:
        """The numbers of the instructions that `instruction` refers to."""
        names = [*_REFERENCE.findall(instruction.operands), *instruction.targets]
        found = [self._labels[name] for name in names if name in self._labels]
        if not found and (address := _ADDRESS.search(instruction.operands)):
            position = self._positions.get(int(address.group(), 16))
            found = [] if position is None else [position]
        return found

    def resolved(self, instruction: Instruction) -> str:
        """The text with each target replaced by the number of its instruction."""

        def label(found: re.Match[str]) -> str:
            at = self._labels.get(found.group(1))
            return found.group(1) if at is None else f"->{at}"

        def address(found: re.Match[str]) -> str:
            at = self._positions.get(int(found.group(), 16))
            return found.group() if at is None else f"->{at}"

        return _ADDRESS.sub(address, _REFERENCE.sub(label, instruction.text))


def control_flow(function: Function) -> Flow:
    """The blocks of `function`.

    A thread that arrives at BSYNC continues where the matching BSSY says, mostly right behind it. A
    CALL returns, or is a jump too far for BRA. For both, both successors are followed.
    """
    code, size = function.instructions, len(function.instructions)
    targets = Targets(function)
    jumps: dict[int, list[int]] = {}
    reconvergence: dict[str, list[int]] = {}
    for index, instruction in enumerate(code):
        opcode = instruction.opcode
        if opcode in JUMPS:
            jumps[index] = [target for target in targets.of(instruction) if target < size]
        elif opcode == _SYNC:
            points = reconvergence.get(instruction.operands, [])
            jumps[index] = [point for point in points if index < point < size]
        elif opcode in _ENDS:
            jumps[index] = []
        elif opcode == _RECONVERGENCE:
            reconvergence[instruction.operands.partition(",")[0].strip()] = targets.of(instruction)
    leaders = {
        0,
        *(after + 1 for after in jumps),
        *(to for found in jumps.values() for to in found),
    }
    starts = sorted(leader for leader in leaders if leader < size)
    numbers = {start: block for block, start in enumerate(starts)}
    successors: list[tuple[int, ...]] = []
    for block, end in enumerate([*starts[1:], size]):
        last = end - 1
        following = [numbers[target] for target in jumps.get(last, ())]
        if end < size and (last not in jumps or _falls_through(code[last])):
            following.append(block + 1)
        successors.append(tuple(dict.fromkeys(following)))
    reached = {following for block in successors for following in block}
    entries = tuple(block for block in range(len(starts)) if block == 0 or block not in reached)
    return Flow((*starts, size), tuple(successors), entries)


def is_conditional(instruction: Instruction) -> bool:
    """Whether the branch depends on a predicate, as a guard or as an operand."""
    if instruction.guard not in ("", "@PT", "@UPT"):
        return True
    return "," in instruction.operands and not instruction.targets


def _falls_through(instruction: Instruction) -> bool:
    return instruction.opcode in (_SYNC, _CALL) or is_conditional(instruction)
