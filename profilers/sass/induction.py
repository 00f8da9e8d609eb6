"""Induction variables: how far a value advances in one iteration of a loop.

Follows definitions backwards through sums, multiples and moves until the first one recurs:
``R5 = R7 + 0x100; R7 = R5`` advances by 256. Instructions are read in the order of the listing,
which is the order of execution unless the loop branches; then the answer is None or an estimate.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from profilers.sass.linear import as_linear, compared, reads_constant, written
from profilers.sass.listing import Instruction

_MOST_HOPS = 200
_MOST_PREDICATES = 8


@dataclass(frozen=True, slots=True)
class Advance:
    """An advance of `amount` per iteration, or, if `counted`, of `amount` times a value only known
    at run time (``i += stride`` four times over: 4, counted)."""

    amount: int
    counted: bool = False


@dataclass(frozen=True, slots=True)
class ValueMotion:
    """A value as `factor` times `root`, a register at the top of the loop, plus `offset`.

    `fixed` are loop-invariant values that it adds. Two values that agree in root, factor and fixed
    parts differ by their offsets.
    """

    root: str
    factor: int
    fixed: tuple[str, ...]
    offset: int
    advance: Advance


class Definitions:
    """Which instructions write which register; computed at the first question."""

    def __init__(self, code: Sequence[Instruction]) -> None:
        self.code = code

    @cached_property
    def _at(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for index, instruction in enumerate(self.code):
            for register in written(instruction):
                places.setdefault(register, []).append(index)
        return places

    def before(self, register: str, position: int) -> int | None:
        """The last write of `register` before `position` in the listing."""
        writes = self._at.get(register, [])
        place = bisect_left(writes, position)
        return writes[place - 1] if place else None

    def reaching(self, register: str, position: int) -> int | None:
        """As `before`, but around the loop if there is none: then the last write of all."""
        writes = self._at.get(register)
        return writes[bisect_left(writes, position) - 1] if writes else None


class LoopMotions:
    """How values advance in a loop; `code` are its own instructions.

    The loop starts at `header` in the whole kernel's `surroundings`, which have the constants that
    were set before it.
    """

    def __init__(
        self, code: Sequence[Instruction], surroundings: Definitions | None = None, header: int = 0
    ) -> None:
        self.code = code
        self._definitions = Definitions(code)
        self._surroundings = surroundings
        self._header = header

    def of(self, register: str, position: int) -> ValueMotion | None:
        """How the value of `register` before `position` advances; None if it does not do so."""
        root, top = "", 0
        seen: dict[int, int] = {}
        steps: list[_Step] = []
        while len(steps) < _MOST_HOPS:
            at = self._definitions.reaching(register, position)
            if at is None:
                return None
            if at >= position and not root:
                root, top = register, len(steps)
            if at in seen:
                return _motion(root, steps[:top], steps[: seen[at]], steps[seen[at] :])
            step = self._step(at)
            if step is None:
                return None
            seen[at] = len(steps)
            steps.append(step)
            register, position = step.carried, at
        return None

    def fixed_value(self, register: str, position: int) -> str | None:
        """A name for the value of `register` if it is loop-invariant, or else None."""
        at = self._definitions.reaching(register, position)
        if at is None:
            return register
        definition = self.code[at]
        return definition.operands.partition(",")[2] if reads_constant(definition) else None

    def counter(self, exits: Sequence[int]) -> Advance | None:
        """The advance of the value that the last of `exits` compares; None if it is unknown."""
        for at in reversed(exits):
            branch = self.code[at]
            pending = [(branch.guard.lstrip("@!"), at)]
            if not branch.guard:
                pending = [(branch.operands.partition(",")[0].strip(" !"), at)]
            for predicate, position in pending:
                found = self._definitions.reaching(predicate, position)
                if found is None or len(pending) > _MOST_PREDICATES:
                    continue
                for name in compared(self.code[found]):
                    if "P" in name:  # the upper half of a comparison takes the lower one's result
                        pending.append((name, found))
                    elif (motion := self.of(name, found)) is not None:
                        return motion.advance
        return None

    def _step(self, at: int) -> _Step | None:
        linear = as_linear(self.code[at], lambda name: self._constant(name, at))
        if linear is None:
            return None
        carried: list[tuple[str, int | None]] = []
        fixed: list[str] = []
        for name, factor in linear.terms:
            value = self.fixed_value(name, at)
            if value is None:
                carried.append((name, factor))
            else:
                fixed.append(f"{factor}*{value}")
        if len(carried) != 1 or carried[0][1] is None:
            return None
        return _Step(carried[0][0], carried[0][1], linear.constant, linear.shift, tuple(fixed))

    def _constant(self, name: str, position: int) -> int | None:
        at, code = self._definitions.reaching(name, position), self.code
        if at is None and self._surroundings is not None:
            at, code = self._surroundings.before(name, self._header), self._surroundings.code
        linear = None if at is None else as_linear(code[at])
        return None if linear is None or linear.terms or linear.shift else linear.constant


@dataclass(frozen=True, slots=True)
class _Step:
    """One definition on the way back: `factor` times `carried`, plus the rest."""

    carried: str
    factor: int
    constant: int
    shift: int
    fixed: tuple[str, ...]


def _motion(
    root: str, since_top: Sequence[_Step], lead: Sequence[_Step], cycle: Sequence[_Step]
) -> ValueMotion | None:
    """`since_top` are the steps back to the top of the loop, `lead` those back to the cycle."""
    if any(step.factor != 1 for step in cycle):
        return None
    constant = sum(step.constant for step in cycle)
    shift = sum(step.shift for step in cycle)
    strides = list(chain.from_iterable(step.fixed for step in cycle))
    if (constant != 0) + (shift != 0) + bool(strides) != 1 or len(set(strides)) > 1:
        return None
    scale = math.prod(step.factor for step in lead)
    if strides:
        advance = Advance(len(strides), counted=True)
    else:
        advance = Advance(abs(shift or constant * scale))
    factor, offset = 1, 0
    for step in since_top:
        offset += factor * step.constant
        factor *= step.factor
    fixed = sorted(chain.from_iterable(step.fixed for step in lead))
    return ValueMotion(root, factor, tuple(fixed), offset, advance)
