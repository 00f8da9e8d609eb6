"""The playbook: optimization methods, when each applies, and how the machine code shows it.

The catalogue itself is data (`playbook.toml`). Tunables, findings, lessons and replies all speak
of methods by their id; this is what the ids mean.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files

from pydantic import Field

from mcts.domain import Axis, BoundClass, Noun
from mcts.errors import InputError


class Signature(Noun):
    """What the method leaves in machine code.

    `opcodes` are SASS opcodes of which at least one appears where the method was realised;
    `facts` says in words what to expect of `SassFacts`.
    """

    opcodes: tuple[str, ...] = ()
    facts: str = ""

    def seen_in(self, instructions: Iterable[str]) -> bool | None:
        """Whether one of the opcodes occurs among `instructions`; None where none is named.

        An instruction matches with the same base and at least the named modifiers, in any order:
        ``LDG.E.128`` is seen in ``LDG.E.EF.128.CONSTANT``.
        """
        if not self.opcodes:
            return None
        wanted = [opcode.split(".") for opcode in self.opcodes]
        return any(
            parts[0] == base and set(modifiers) <= set(parts[1:])
            for parts in (instruction.split(".") for instruction in instructions)
            for base, *modifiers in wanted
        )


class Method(Noun):
    """One optimization method.

    `bounds` are the roofline classes it has affinity to; `tunables` are names under which kernels
    usually expose it. `signature` is None where machine code does not show the method.
    `gain` is a mean speedup factor, and only where `gain_source` says who measured it.
    """

    id: str
    axis: Axis
    name: str
    description: str
    applies_when: str
    bounds: tuple[BoundClass, ...] = Field(min_length=1)
    tunables: tuple[str, ...] = ()
    signature: Signature | None = None
    gain: float | None = Field(default=None, gt=1)
    gain_source: str = ""


@lru_cache(maxsize=1)
def playbook() -> dict[str, Method]:
    """All methods by id, in the order of the catalogue."""
    text = files("codegen").joinpath("playbook.toml").read_text(encoding="utf-8")
    methods = (Method.model_validate(entry) for entry in tomllib.loads(text)["method"])
    return {entry.id: entry for entry in methods}


def method(method_id: str) -> Method:
    """The method with this id; InputError naming the known ones otherwise."""
    found = playbook().get(method_id)
    if found is None:
        known = ", ".join(playbook())
        raise InputError(f"unknown optimization method {method_id!r}; known: {known}")
    return found


def methods_for(bound: BoundClass) -> tuple[Method, ...]:
    """Methods with affinity to a roofline class; all of them where the class is unknown."""
    methods = tuple(playbook().values())
    if bound == "unknown":
        return methods
    return tuple(entry for entry in methods if bound in entry.bounds)


def methods_on(axis: Axis) -> tuple[Method, ...]:
    """Methods that spend a slot of this axis of the method budget."""
    return tuple(entry for entry in playbook().values() if entry.axis == axis)


def method_name(method_id: str) -> str:
    """The name for people; an id the playbook does not know stands for itself."""
    found = playbook().get(method_id)
    return method_id if found is None else found.name
