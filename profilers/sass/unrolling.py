"""The unroll factor of a loop: how many copies of the source's body one iteration holds.

The compiler does not say how far it unrolled, so this is an estimate. U copies of a body

- repeat its work: each source line's stores, barriers and atomics occur U times, and so does most
  of its arithmetic (a product may merge with the next copy's sum). Loads are ignored, because
  copies share values and merge neighbours into wider loads. Several statements on one line cannot
  be distinguished; the lines then prove nothing.
- advance the loop's counter by U steps. So U divides its advance; if the step is only known at run
  time, U divides the number of increments; if no counter is found, the number of exits.
- access memory at equal distances: see `streams`.
- often leave a remainder loop behind, with 1/U of the work of each kind.

The estimate is the largest U that the work and the counter allow and that one of these supports:
the counter advances by exactly U; most streams of addresses allow U; or the lines or the number of
increments allow it and there are no streams. A remainder loop takes precedence. Without any
evidence the estimate is 1. Equal machine code gets equal answers, so four like statements written
out by hand count as four copies of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from profilers.sass.induction import Advance, LoopMotions
from profilers.sass.linear import SUMS
from profilers.sass.streams import streams

MOST_COPIES = 64
_MOST_INSTRUCTIONS = 20_000
_SMALL_STEP = 16
_SIDE_EFFECTS = frozenset(
    {
        "STG", "ST", "STS", "STL", "ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDS", "BAR", "SHFL",
        "LDGSTS", "UBLKCP", "UTMALDG", "UTMASTG",
    }
)  # fmt: skip
_ARITHMETIC = frozenset({"fp32", "fp64", "half", "tensor", "special", "conversion"})
_LOADS = frozenset({"LDG", "LD", "LDS", "LDSM", "LDL"})

_WorkKey = tuple[object, str]
"""A place in the source and a kind of work."""


@dataclass(slots=True)
class _Work:
    """Counts of instructions. Those with `side_effects` cannot be merged, `arithmetic` can."""

    side_effects: Counter[_WorkKey] = field(default_factory=Counter)
    arithmetic: Counter[_WorkKey] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        return bool(self.side_effects or self.arithmetic)

    def allows(self, copies: int) -> bool:
        """Whether this may be the work of `copies` bodies."""
        if any(count % copies for count in self.side_effects.values()):
            return False
        even = sum(count % copies == 0 for count in self.arithmetic.values())
        needed = 1 / 2 if self.side_effects else 2 / 3
        return even >= needed * len(self.arithmetic)

    @property
    def distinguishes_statements(self) -> bool:
        """Whether there is line information and no line has several side effects of a kind."""
        places = [place for place, _ in (*self.side_effects, *self.arithmetic)]
        side_effects = [place for place, _ in self.side_effects]
        return all(places) and len(set(side_effects)) == len(side_effects)

    def times(self, less: _Work) -> int:
        """How many times the work of `less` this is; 1 if it is not a multiple."""
        ratios: set[float] = set()
        for mine, other in (
            (self.side_effects, less.side_effects),
            (self.arithmetic, less.arithmetic),
        ):
            if mine.keys() != other.keys():
                return 1
            ratios |= {count / other[group] for group, count in mine.items()}
        ratio = ratios.pop() if len(ratios) == 1 else 1.0
        return int(ratio) if ratio.is_integer() else 1


class LoopBody:
    """A loop's own instructions, and the indices of those that may leave it."""

    def __init__(self, motions: LoopMotions, exits: Sequence[int]) -> None:
        self.code = motions.code
        self.motions = motions
        self.exits = exits

    @cached_property
    def work(self) -> _Work:
        """The work that repeats with the body.

        If there are neither stores nor arithmetic, its loads; if there are no loads either, its
        integer arithmetic except on the line of the branch back, where the loop counts.
        """
        work, loads, integers = _Work(), _Work(), _Work()
        counting = self.code[-1].places[:1] if self.code else ()
        for instruction in self.code:
            operation, place = instruction.operation, instruction.places[:1]
            if operation.opcode in _SIDE_EFFECTS:
                work.side_effects[place, operation.key or operation.opcode] += 1
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
        """How far the counter advances per iteration."""
        return self.motions.counter(self.exits)

    @property
    def steps(self) -> int:
        """The number that the unroll factor must divide."""
        return self.advance.amount if self.advance else len(self.exits)

    def copies(self) -> int:
        """The estimate from this loop alone."""
        if not self.work:
            return 1
        counted = self.advance is not None and self.advance.counted
        certain = counted or self.work.distinguishes_statements
        found = streams(self.motions)
        for copies in range(min(MOST_COPIES, self.steps), 1, -1):
            if self.steps % copies or not self.work.allows(copies):
                continue
            votes = [stream.allows(copies) for stream in found]
            exactly = self.advance is not None and copies == self.steps <= _SMALL_STEP
            if exactly or 2 * sum(votes) > len(votes) or (certain and not votes):
                return copies
        return 1


def unrolled(bodies: Sequence[LoopBody]) -> list[int]:
    """The estimate for each of several loops with the same parent."""
    found = [1] * len(bodies)
    shortest: dict[frozenset[_WorkKey], int] = {}
    for index in sorted(range(len(bodies)), key=lambda index: len(bodies[index].code)):
        body = bodies[index]
        if len(body.code) > _MOST_INSTRUCTIONS:
            continue
        groups = frozenset({*body.work.side_effects, *body.work.arithmetic})
        rest = shortest.setdefault(groups, index)
        times = body.work.times(bodies[rest].work) * found[rest] if groups else 1
        if 1 < times <= MOST_COPIES and rest != index and body.steps % times == 0:
            found[index] = times
        else:
            found[index] = body.copies()
    return found
