"""Tunables: the named choices a kernel leaves open, and the space they span."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from functools import cached_property

from pydantic import Field, field_validator, model_validator

from mcts.domain.base import Noun
from mcts.domain.expressions import Scalar, evaluate
from mcts.errors import InputError

Configuration = Mapping[str, Scalar]
ConfigurationKey = tuple[tuple[str, Scalar], ...]


def configuration_key(configuration: Configuration) -> ConfigurationKey:
    """A hashable, order-free form of a configuration."""
    return tuple(sorted(configuration.items()))


def check_identifiers(tunables: Mapping[str, object]) -> None:
    """Raise ValueError unless every tunable's name can be a macro and stand in an expression."""
    for name in tunables:
        if not name.isidentifier():
            raise ValueError(f"tunable {name!r} is not an identifier")


class Tunable(Noun):
    """One choice: its values in their natural order, and the naive default.

    `methods` are the playbook methods that changing it applies; `help` is for people and prompts.
    """

    values: tuple[Scalar, ...] = Field(min_length=1)
    default: Scalar
    methods: tuple[str, ...] = ()
    help: str = ""

    @model_validator(mode="before")
    @classmethod
    def _first_value_is_default(cls, data: object) -> object:
        if isinstance(data, list | tuple):
            data = {"values": data}
        values = data.get("values") if isinstance(data, dict) else None
        if isinstance(data, dict) and "default" not in data and isinstance(values, list | tuple):
            return {**data, "default": values[0]} if values else data
        return data

    @model_validator(mode="after")
    def _default_is_a_value(self) -> Tunable:
        if self.default not in self.values:
            raise ValueError(f"default {self.default!r} is not among its values {self.values}")
        if len(set(self.values)) != len(self.values):
            raise ValueError("a value is listed twice")
        if not all(math.isfinite(value) for value in self.values if isinstance(value, float)):
            raise ValueError("a value is not finite")
        # 1, 1.0 and True are equal but make different ids: the declared one is meant.
        object.__setattr__(self, "default", self.values[self.values.index(self.default)])
        return self


class TunableSpace(Noun):
    """The product of all tunables, less what the `where` expressions exclude.

    If `rows` is not empty, only those combinations exist (values in the order of `tunables`): a
    recording holds what was measured and nothing else.
    """

    tunables: dict[str, Tunable] = {}
    where: tuple[str, ...] = ()
    rows: tuple[tuple[Scalar, ...], ...] = ()

    @field_validator("tunables")
    @classmethod
    def _names_are_identifiers(cls, tunables: dict[str, Tunable]) -> dict[str, Tunable]:
        check_identifiers(tunables)
        return tunables

    def default(self) -> dict[str, Scalar]:
        """The configuration of all defaults."""
        return {name: tunable.default for name, tunable in self.tunables.items()}

    def check(self, configuration: Configuration) -> None:
        """Raise InputError unless every tunable has one of its declared values."""
        for name, value in configuration.items():
            if name not in self.tunables:
                known = ", ".join(self.tunables) or "none"
                raise InputError(f"unknown tunable {name!r}; known: {known}")
            if value not in self.tunables[name].values:
                allowed = ", ".join(map(str, self.tunables[name].values))
                raise InputError(f"tunable {name} = {value!r} is out of range; one of: {allowed}")
        missing = [name for name in self.tunables if name not in configuration]
        if missing:
            raise InputError(f"no value for tunable {missing[0]!r}")

    def allows(self, configuration: Configuration, shape: Mapping[str, int]) -> bool:
        """Whether all `where` expressions hold for `configuration` on `shape`."""
        if self.rows and tuple(configuration[name] for name in self.tunables) not in self.row_set:
            return False
        names = {**shape, **configuration}
        return all(bool(evaluate(condition, names)) for condition in self.where)

    @cached_property
    def row_set(self) -> frozenset[tuple[Scalar, ...]]:
        """`rows` as a set, for look-ups and as a key of caches."""
        return frozenset(self.rows)

    @cached_property
    def size(self) -> int:
        """Number of combinations before `where`."""
        total = 1
        for tunable in self.tunables.values():
            total *= len(tunable.values)
        return total

    def configurations(self, shape: Mapping[str, int]) -> Iterator[dict[str, Scalar]]:
        """Every allowed configuration, in the natural order of the values."""
        names = tuple(self.tunables)
        product = itertools.product(*(self.tunables[name].values for name in names))
        for values in self.rows or product:
            configuration = dict(zip(names, values, strict=True))
            if self.allows(configuration, shape):
                yield configuration
