"""The playbook: optimization methods, when each applies, and how the machine code shows it.

The catalogue itself is data (`playbook.toml`). Tunables, findings, lessons and replies all speak
of methods by their id; this is what the ids mean.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from importlib.resources import files

from pydantic import Field

from mcts.domain import Axis, BoundClass, Dialect, DialectField, Noun, Profile, SassFacts
from mcts.errors import InputError


class Signature(Noun):
    """What the method leaves in machine code.

    `opcodes` are SASS opcodes of which at least one appears if the method was realised;
    `doubtful` are others that it may show as, and other code too. `counts` says which counts of
    `SassFacts` (named as in its `lines`) are above zero if one of these opcodes occurs: that is
    what is asked of code whose opcodes were not kept. `facts` says in words what to expect.
    """

    opcodes: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    counts: dict[str, tuple[str, ...]] = {}
    facts: str = ""

    @property
    def is_visible(self) -> bool:
        """Whether opcodes can say anything of the method."""
        return bool(self.opcodes or self.doubtful)

    def seen_in(self, instructions: Iterable[str]) -> bool | None:
        """Whether one of the opcodes occurs among `instructions`; None if the method names no
        opcode, or only doubtful ones occur.

        An instruction matches with the same base and at least the named modifiers, in any order:
        ``LDG.E.128`` is seen in ``LDG.E.EF.128.CONSTANT``.
        """
        present = [instruction.split(".") for instruction in instructions]
        if not self.is_visible:
            return None
        if _occurs(self.opcodes, present):
            return True
        return None if _occurs(self.doubtful, present) else False

    def seen_in_code(self, facts: SassFacts) -> bool | None:
        """`seen_in` for one kernel; by its counts if its opcodes were not kept."""
        if facts.opcodes:
            return self.seen_in(facts.opcodes)
        shown = {opcode for count in self.counts if _count(facts, count)
                 for opcode in self.counts[count]}  # fmt: skip
        if shown & set(self.opcodes):
            return True
        counted = {opcode for opcodes in self.counts.values() for opcode in opcodes}
        covered = self.is_visible and counted >= {*self.opcodes, *self.doubtful}
        return False if covered and not shown else None

    def seen_in_profile(self, profile: Profile) -> bool | None:
        """Whether one of the kernels shows the method; None if none does, and one of them could
        not be read or leaves doubts.
        """
        found = [self.seen_in_code(k.sass) if k.sass else None for k in profile.kernels]
        if True in found:
            return True
        return None if None in found or not found else False


def _occurs(wanted: Iterable[str], present: list[list[str]]) -> bool:
    parts = [opcode.split(".") for opcode in wanted]
    return any(
        base == found[0] and set(modifiers) <= set(found[1:])
        for base, *modifiers in parts
        for found in present
    )


def _count(facts: SassFacts, name: str) -> int:
    """A count of `facts`; of a table the entry behind the dot, or without one all of it."""
    field, _, key = name.partition(".")
    found: int | dict[str, int] = getattr(facts, field)
    if isinstance(found, int):
        return found
    return found.get(key, 0) if key else sum(found.values())


class Method(Noun):
    """One optimization method.

    `bounds` are the roofline classes it has affinity to; `tunables` are names under which kernels
    usually expose it. `signature` is None if machine code does not show the method.
    `gain` is a mean speedup factor, and only if `gain_source` says who measured it.
    `dialects` and `capabilities` (compute capabilities, as ``9.0``) say where it can be written;
    empty: anywhere. `pitfalls` is what goes wrong, `evidence` what a profile shows where it worked.
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
    dialects: tuple[DialectField, ...] = ()
    capabilities: tuple[str, ...] = ()
    pitfalls: str = ""
    evidence: str = ""

    @property
    def is_general(self) -> bool:
        """Whether it can be written in any dialect for any GPU."""
        return not (self.dialects or self.capabilities)

    @property
    def advice(self) -> str:
        """How it is done, what goes wrong and how one sees that it worked."""
        texts = [self.description]
        if self.pitfalls:
            texts.append(f"Pitfalls: {self.pitfalls}")
        if self.evidence:
            texts.append(f"Expect: {self.evidence}")
        return " ".join(texts)

    def fits(self, dialect: Dialect, capability: str | None) -> bool:
        """Whether it can be written in this dialect for a GPU of this compute capability; where the
        GPU is not known, only methods for any GPU can.
        """
        return (not self.dialects or dialect in self.dialects) and (
            not self.capabilities or capability in self.capabilities
        )


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Method]:
    """All methods by id, also those for one kind of GPU or code; for what is said of methods.

    What is proposed comes from `playbook` or `playbook_for`.
    """
    text = files("codegen").joinpath("playbook.toml").read_text(encoding="utf-8")
    methods = (Method.model_validate(entry) for entry in tomllib.loads(text)["method"])
    return {entry.id: entry for entry in methods}


@lru_cache(maxsize=1)
def playbook() -> dict[str, Method]:
    """The methods that can be written in any dialect for any GPU, by id, in the catalogue's order.

    With those for one kind of GPU or code: `playbook_for`.
    """
    return {entry.id: entry for entry in catalogue().values() if entry.is_general}


def playbook_for(dialect: Dialect, capability: str | None) -> dict[str, Method]:
    """The methods that can be written in this dialect for a GPU of this compute capability (as
    ``9.0``; None: not known), by id, in the catalogue's order.
    """
    return {e.id: e for e in catalogue().values() if e.fits(dialect, capability)}


def method(method_id: str) -> Method:
    """The method with this id; InputError naming the known ones otherwise."""
    found = catalogue().get(method_id)
    if found is None:
        known = ", ".join(catalogue())
        raise InputError(f"unknown optimization method {method_id!r}; known: {known}")
    return found


def methods_for(bound: BoundClass, among: Mapping[str, Method] | None = None) -> tuple[Method, ...]:
    """Methods with affinity to a roofline class, `among` those given, else of the `playbook`; all
    of them if the class is unknown.
    """
    methods = tuple((playbook() if among is None else among).values())
    if bound == "unknown":
        return methods
    return tuple(entry for entry in methods if bound in entry.bounds)


def method_name(method_id: str) -> str:
    """The name for people; an id the playbook does not know stands for itself."""
    found = catalogue().get(method_id)
    return method_id if found is None else found.name


def signatures() -> dict[str, Callable[[Profile], bool | None]]:
    """By method whether a profile's machine code shows it: True if its opcodes are there, False if
    they are not, None if the profile cannot tell.

    Methods that machine code does not show are left out.
    """
    return {
        entry.id: entry.signature.seen_in_profile
        for entry in catalogue().values()
        if entry.signature is not None and entry.signature.is_visible
    }
