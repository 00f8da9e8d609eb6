"""How many copies of its source's body one trip through a loop holds.

The compiler says nowhere how far it unrolled, so this is an estimate. U copies of a body

- repeat its work: each source line's stores, barriers and atomics come U times and its arithmetic
  mostly so (a product may merge with the next copy's sum). Loads are not asked, because copies
  share values and merge neighbours into wider loads. Several statements on one line cannot be
  kept apart, then the lines prove nothing.
- move the loop's counter U steps. So U divides its advance; where the step is known at run time
  only, U divides the number of increments; where no counter is found, the number of exits.
- access memory at equal distances: see `sass_streams`.
- often leave a remainder loop behind, with 1/U of the work of each kind.

The estimate is the largest U for which the work and the counter agree and one of these speaks:
the counter moves by exactly U; most streams of addresses allow U; the lines or the number of
increments tell, and addresses are silent. A remainder loop goes before all of these. Where nothing
tells: 1. Equal machine code gets equal answers, so four like statements written out by hand count
as four copies of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from profilers.sass.induction import Advance, LoopMotion
from profilers.sass.linear import SUMS
from profilers.sass.streams import streams

MOST_COPIES = 64
_MOST_INSTRUCTIONS = 20_000
_SMALL_STEP = 16
_LASTING = frozenset(
    {
        "STG", "ST", "STS", "STL", "ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDS", "BAR", "SHFL",
        "LDGSTS", "UBLKCP", "UTMALDG", "UTMASTG",
    }
)  # fmt: skip
_ARITHMETIC = frozenset({"fp32", "fp64", "half", "tensor", "special", "conversion"})
_LOADS = frozenset({"LDG", "LD", "LDS", "LDSM", "LDL"})

_Group = tuple[object, str]
"""Work of one kind from one place in the source."""


@dataclass(slots=True)
class _Work:
    """Instructions by group. `lasting` cannot be merged, `arithmetic` can."""

    lasting: Counter[_Group] = field(default_factory=Counter)
    arithmetic: Counter[_Group] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        return bool(self.lasting or self.arithmetic)

    def allows(self, copies: int) -> bool:
        """Whether it may be `copies` times one body's."""
        if any(count % copies for count in self.lasting.values()):
            return False
        even = sum(count % copies == 0 for count in self.arithmetic.values())
        needed = 1 / 2 if self.lasting else 2 / 3
        return even >= needed * len(self.arithmetic)

    @property
    def kept_apart(self) -> bool:
        """Whether line information is there and no line holds several statements that last."""
        places = [place for place, _ in (*self.lasting, *self.arithmetic)]
        lasting = [place for place, _ in self.lasting]
        return all(places) and len(set(lasting)) == len(lasting)

    def over(self, less: _Work) -> int:
        """How many times the work of `less` this is; 1 where it is no such multiple."""
        ratios: set[float] = set()
        for mine, other in ((self.lasting, less.lasting), (self.arithmetic, less.arithmetic)):
            if mine.keys() != other.keys():
                return 1
            ratios |= {count / other[group] for group, count in mine.items()}
        ratio = ratios.pop() if len(ratios) == 1 else 1.0
        return int(ratio) if ratio.is_integer() else 1


class LoopBody:
    """A loop's own instructions, and which of them may leave it, by their places there."""

    def __init__(self, moving: LoopMotion, exits: Sequence[int]) -> None:
        self.code = moving.code
        self.moving = moving
        self.exits = exits

    @cached_property
    def work(self) -> _Work:
        """What repeats with the body.

        Where that is neither stores nor arithmetic, its loads; where it loads nothing, its integer
        arithmetic but for the line of the branch back, where the loop counts.
        """
        work, loads, integers = _Work(), _Work(), _Work()
        counting = self.code[-1].places[:1] if self.code else ()
        for instruction in self.code:
            operation, place = instruction.operation, instruction.places[:1]
            if operation.opcode in _LASTING:
                work.lasting[place, operation.key or operation.opcode] += 1
            elif operation.kind in _ARITHMETIC:
                work.arithmetic[place, operation.kind] += 1
            elif operation.opcode in _LOADS:
                loads.arithmetic[place, "loads"] += 1
            elif operation.kind == "integer" and place != counting:
                sums = operation.opcode in SUMS
                integers.arithmetic[place, "sums" if sums else operation.opcode] += 1
        return next((some for some in (work, loads) if some), integers)

    @cached_property
    def advance(self) -> Advance | None:
        """How far the counter moves in a trip."""
        return self.moving.counter(self.exits)

    @property
    def steps(self) -> int:
        """What the number of copies must divide."""
        return self.advance.amount if self.advance else len(self.exits)

    def copies(self) -> int:
        """The estimate from this loop alone."""
        if not self.work:
            return 1
        counted = self.advance is not None and self.advance.counted
        certain = counted or self.work.kept_apart
        found = streams(self.moving)
        for copies in range(min(MOST_COPIES, self.steps), 1, -1):
            if self.steps % copies or not self.work.allows(copies):
                continue
            votes = [stream.allows(copies) for stream in found]
            exactly = self.advance is not None and copies == self.steps <= _SMALL_STEP
            if exactly or 2 * sum(votes) > len(votes) or (certain and not votes):
                return copies
        return 1


def unrolled(bodies: Sequence[LoopBody]) -> list[int]:
    """The estimate for each of several loops that lie in the same loop, or in none."""
    found = [1] * len(bodies)
    shortest: dict[frozenset[_Group], int] = {}
    for index in sorted(range(len(bodies)), key=lambda index: len(bodies[index].code)):
        body = bodies[index]
        if len(body.code) > _MOST_INSTRUCTIONS:
            continue
        groups = frozenset({*body.work.lasting, *body.work.arithmetic})
        rest = shortest.setdefault(groups, index)
        times = body.work.over(bodies[rest].work) * found[rest] if groups else 1
        if 1 < times <= MOST_COPIES and rest != index and body.steps % times == 0:
            found[index] = times
        else:
            found[index] = body.copies()
    return found
