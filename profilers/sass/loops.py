"""The loops of a kernel's machine code, and what is in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from mcts.domain import SassLoop
from profilers.sass.flow import Flow, is_conditional
from profilers.sass.induction import Definitions, LoopMotions
from profilers.sass.listing import Instruction
from profilers.sass.nesting import Nesting, loop_nesting
from profilers.sass.unrolling import LoopBody, unrolled

_DEEPEST = 32
_MOST_LOOPS = 128
_LONGEST_WAIT = 24
_IDLE_KINDS = frozenset({"control", "other", "integer", "memory"})


@dataclass(slots=True)
class _Loop:
    """A loop under construction. `own` are its instructions' indices, without inner loops'."""

    header: int
    parent: int | None
    depth: int
    own: list[int] = field(default_factory=list)
    total: Counter[str] = field(default_factory=Counter)
    copies: int = 1


def find_loops(
    code: Sequence[Instruction], flow: Flow, line_of: Callable[[Instruction], int | None]
) -> tuple[SassLoop, ...]:
    """The loops in `code`, in its order.

    Loops that do none of the work are left out: those that try a barrier until it is passed, repeat
    an atomic that the hardware lacks, or issue an instruction of one thread for each of a warp's in
    turn, as ptxas writes it around TMA. Their instructions count for the loop around them.
    `instructions`, loads and barriers include those of inner loops, `mix` and `line` do not. Of
    more than 128 loops, the deepest and longest are returned.
    """
    nesting = loop_nesting(flow)
    kept = _counted_headers(code, flow, nesting)
    depths = nesting.depths()
    loops = {
        header: _Loop(header, nesting.parents[header], depths[header])
        for header, around in kept.items()
        if header == around
    }
    around = [kept.get(header) if header is not None else None for header in nesting.header_of]
    for block, header in enumerate(around):
        if header is not None:
            loops[header].own += _unpadded(code, flow, block)
    _estimate_unrolling(code, flow, loops, around)
    for loop in reversed(loops.values()):
        loop.total.update(_totals(code[at] for at in loop.own))
        if loop.parent is not None:
            loops[loop.parent].total.update(loop.total)
    ranked = sorted(loops.values(), key=lambda loop: (-loop.depth, -loop.total["instructions"]))
    given = sorted(ranked[:_MOST_LOOPS], key=lambda loop: loop.header)
    return tuple(
        _sass_loop(loop, [code[at] for at in loop.own], line_of)
        for loop in given
        if loop.total["instructions"]
    )


def _counted_headers(
    code: Sequence[Instruction], flow: Flow, nesting: Nesting
) -> dict[int, int | None]:
    """By header, the header of the loop that its instructions count for: itself or an outer one."""
    own: dict[int, list[int]] = {header: [] for header in nesting.parents}
    for block, header in enumerate(nesting.header_of):
        if header is not None and len(own[header]) <= _LONGEST_WAIT:
            own[header] += _unpadded(code, flow, block)
    outer = set(nesting.parents.values())
    depths = nesting.depths()
    kept: dict[int, int | None] = {}
    for header, parent in nesting.parents.items():
        idle = header not in outer and _does_no_work([code[at] for at in own[header]])
        if idle or depths[header] > _DEEPEST:
            kept[header] = None if parent is None else kept[parent]
        else:
            kept[header] = header
    return kept


def _unpadded(code: Sequence[Instruction], flow: Flow, block: int) -> list[int]:
    span = range(flow.starts[block], flow.starts[block + 1])
    return [at for at in span if code[at].opcode != "NOP"]


def _does_no_work(code: Sequence[Instruction]) -> bool:
    names = [one.mnemonic for one in code]
    waits = any("TRYWAIT" in name or ".SPIN" in name for name in names)
    elects = "ELECT" in names and "BRA.U.ANY" in names
    return (
        len(code) <= _LONGEST_WAIT
        and (waits or elects)
        and all(one.operation.kind in _IDLE_KINDS for one in code)
    )


def _estimate_unrolling(
    code: Sequence[Instruction],
    flow: Flow,
    loops: dict[int, _Loop],
    around: Sequence[int | None],
) -> None:
    siblings: dict[int | None, list[_Loop]] = {}
    for loop in loops.values():
        siblings.setdefault(loop.parent, []).append(loop)

    def leaves(loop: _Loop, at: int) -> bool:
        instruction = code[at]
        if instruction.operation.kind != "control" or not is_conditional(instruction):
            return False
        following = flow.successors[flow.block_of(at)]
        return instruction.opcode == "EXIT" or any(
            not _is_inside(around[block], loop, loops) for block in following
        )

    surroundings = Definitions(code)
    for group in siblings.values():
        bodies = [
            LoopBody(
                LoopMotions([code[at] for at in loop.own], surroundings, flow.starts[loop.header]),
                [place for place, at in enumerate(loop.own) if leaves(loop, at)],
            )
            for loop in group
        ]
        for loop, copies in zip(group, unrolled(bodies), strict=True):
            loop.copies = copies


def _is_inside(header: int | None, loop: _Loop, loops: dict[int, _Loop]) -> bool:
    """Whether the loop at `header` is `loop` or inside of it."""
    while header is not None and header != loop.header:
        header = loops[header].parent
    return header is not None


def _totals(code: Iterable[Instruction]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for instruction in code:
        counted["instructions"] += 1
        counted[instruction.operation.field] += 1
    return counted


def _sass_loop(
    loop: _Loop, own: Sequence[Instruction], line_of: Callable[[Instruction], int | None]
) -> SassLoop:
    lines = Counter(line for line in map(line_of, own) if line is not None)
    most = max(lines.values(), default=0)
    return SassLoop(
        depth=loop.depth,
        instructions=loop.total["instructions"],
        unrolled=loop.copies,
        line=min((line for line, count in lines.items() if count == most), default=None),
        mix=dict(Counter(instruction.operation.kind for instruction in own)),
        global_loads=loop.total["global_loads"],
        shared_loads=loop.total["shared_loads"],
        barriers=loop.total["barriers"],
        wide_fences=loop.total["wide_fences"],
    )
