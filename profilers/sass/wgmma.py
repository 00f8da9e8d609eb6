"""Warpgroup matrix instructions (`wgmma.mma_async`), and which of them are serialised.

An HGMMA, or the equivalent for other types, runs asynchronously to the warps that issue it. Several
form a group, and ``WARPGROUP.DEPBAR.LE gsb0, N`` waits until at most N groups are in flight. If the
compiler cannot prove that accumulators are not touched meanwhile, it closes a group behind each
instruction and waits for it (ptxas notes C7510 and C7515).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from profilers.sass.flow import Flow
from profilers.sass.listing import Instruction

_OPCODES = frozenset({"HGMMA", "QGMMA", "IGMMA", "BGMMA"})
_WAIT = "WARPGROUP.DEPBAR"
_FOR_ALL = re.compile(r"gsb\d+, 0x0")
_ALWAYS = frozenset({"", "@PT", "@UPT"})


def is_wgmma(instruction: Instruction) -> bool:
    """Whether it multiplies asynchronously, sparse forms included.

    One without accumulators (``HGMMA RZ, gdesc[URZ], RZ``) only closes a group.
    """
    return instruction.opcode in _OPCODES and not instruction.operands.startswith("RZ,")


def serial_wgmma(code: Sequence[Instruction], flow: Flow) -> frozenset[int]:
    """Indices in `code` of those that are completed before the next one is issued.

    That is, on every path to another one, or to itself again; a wait after which no other follows
    does not count. Of a group that is waited for as a whole, only the last one is serialised. What
    follows a subroutine's return is unknown and counts as another one.
    """
    issued = [at for at, instruction in enumerate(code) if is_wgmma(instruction)]
    if not issued:
        return frozenset()
    returns = {at: True for at, instruction in enumerate(code) if instruction.opcode == "RET"}
    waits = {at: False for at, instruction in enumerate(code) if _waits_for_all(instruction)}
    issues = dict.fromkeys(issued, True) | returns
    followed = _followed(issues, flow)
    overlapped = _followed(issues | waits, flow)
    return frozenset(at for at in issued if at in followed and at not in overlapped)


def _waits_for_all(instruction: Instruction) -> bool:
    return (
        instruction.mnemonic.startswith(_WAIT)
        and instruction.guard in _ALWAYS
        and _FOR_ALL.fullmatch(instruction.operands) is not None
    )


def _followed(events: Mapping[int, bool], flow: Flow) -> set[int]:
    """Indices of `events` after which the next event may be one that is True."""
    order = sorted(events)
    first: dict[int, bool] = {}
    for at in order:
        first.setdefault(flow.block_of(at), events[at])
    before: list[list[int]] = [[] for _ in flow.successors]
    for block, following in enumerate(flow.successors):
        for after in following:
            before[after].append(block)
    # Blocks from whose start the next event may be one that is True.
    leads = {block for block, kind in first.items() if kind}
    pending = list(leads)
    while pending:
        for block in before[pending.pop()]:
            if block not in first and block not in leads:
                leads.add(block)
                pending.append(block)
    found = {at for at, after in pairwise(order) if events[after] and _together(at, after, flow)}
    ends = {flow.block_of(at): at for at in order}
    found |= {at for block, at in ends.items() if not leads.isdisjoint(flow.successors[block])}
    return found


def _together(one: int, other: int, flow: Flow) -> bool:
    return flow.block_of(one) == flow.block_of(other)
