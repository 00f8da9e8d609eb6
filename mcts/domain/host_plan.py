"""The host plan: what a `host` candidate's launcher is called with, and its tunables.

It stands as TOML in the first comment of the source, as a launch plan does in a `cuda` candidate.
The launcher is the candidate's own host code: what it launches, and how, is up to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from pydantic import Field, field_validator, model_validator

from mcts.domain.base import Noun
from mcts.domain.expressions import Scalar, evaluate, names_in
from mcts.domain.launch_plan import (
    MOST_TUNABLES,
    DType,
    Expression,
    ScalarArgument,
    kernel_macros,
    plan_text,
    read_plan,
)
from mcts.domain.tunables import Tunable, TunableSpace, check_identifiers
from mcts.errors import InputError

HostDType = DType | Literal["int16", "bool", "float8_e4m3fn", "float8_e5m2"]
HOST_ITEM_BYTES: dict[str, int] = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int8": 1,
    "uint8": 1, "int16": 2, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip
STREAM = "stream"
"""As an argument: the stream on which all work must be ordered."""
_IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"
_MACRO_TEXT = re.compile(r"[\w:<>,. +*/-]{1,120}", re.ASCII)
_MOST = 64


class _Named(Noun):
    name: str = Field(pattern=_IDENTIFIER)
    dtype: HostDType = "float32"


class _Tensor(_Named):
    shape: tuple[Expression, ...] = Field(max_length=8)


class HostInput(_Named):
    """An argument of `forward`, in its order: a tensor with `dtype` and `shape`, or, without a
    shape, a plain number, which expressions may then name.

    In `shape` a new name takes the extent's value; any other expression must evaluate to it.
    """

    shape: tuple[Expression, ...] | None = Field(default=None, max_length=8)


class HostWeight(_Tensor):
    """A parameter or buffer of the problem's model, by its dotted name `of` (default: `name`)."""

    of: str = ""

    @property
    def parameter(self) -> str:
        return self.of or self.name


class HostOutput(_Tensor):
    """A tensor that the launcher fills; uninitialised when it is called."""


class HostWorkspace(_Named):
    """Scratch device memory, uninitialised at every call: `size` elements, or as many bytes as the
    function `bytes_from` of the source returns for `args`. Its bytes are ``NAME_bytes`` in `args`.
    """

    dtype: HostDType = "uint8"
    size: Expression | None = None
    bytes_from: str | None = Field(default=None, pattern=_IDENTIFIER)
    args: tuple[Expression, ...] = Field(default=(), max_length=_MOST)

    @model_validator(mode="after")
    def _one_of_two(self) -> HostWorkspace:
        if (self.size is None) == (self.bytes_from is None):
            raise ValueError(f"workspace {self.name!r} needs either `size` or `bytes_from`")
        if self.args and self.bytes_from is None:
            raise ValueError(f"workspace {self.name!r}: `args` are those of `bytes_from`")
        return self


class HostPlan(Noun):
    """The launcher, its arguments in order, and what they name.

    failure: a function ``const char* f()`` that says why the last call did not return 0.
    init: names for the numbers of ``get_init_inputs()``, in order.
    returns: how outputs are returned; with `tuple` a single output is returned by itself.
    where: expressions over tunables and `init` that hold for every allowed combination.
    """

    launcher: str = Field(default="launch", pattern=_IDENTIFIER)
    args: tuple[Expression | ScalarArgument, ...] = Field(min_length=1, max_length=_MOST)
    failure: str | None = Field(default=None, pattern=_IDENTIFIER)
    init: tuple[str, ...] = ()
    input: tuple[HostInput, ...] = Field(default=(), max_length=_MOST)
    weight: tuple[HostWeight, ...] = Field(default=(), max_length=_MOST)
    output: tuple[HostOutput, ...] = Field(min_length=1, max_length=_MOST)
    workspace: tuple[HostWorkspace, ...] = Field(default=(), max_length=_MOST)
    returns: Literal["tuple", "list"] = "tuple"
    tunables: dict[str, Tunable] = Field(default={}, max_length=MOST_TUNABLES)
    where: tuple[str, ...] = ()

    @field_validator("where", mode="before")
    @classmethod
    def _one_or_many(cls, where: object) -> object:
        return (where,) if isinstance(where, str) else where

    @field_validator("tunables")
    @classmethod
    def _can_be_macros(cls, tunables: dict[str, Tunable]) -> dict[str, Tunable]:
        check_identifiers(tunables)
        for name, tunable in tunables.items():
            if not name.isascii():
                raise ValueError(f"tunable {name!r} cannot be a macro: use ASCII letters")
            for value in tunable.values:
                if isinstance(value, str) and not _MACRO_TEXT.fullmatch(value):
                    raise ValueError(f"tunable {name}: {value!r} cannot be a macro's text")
        return tunables

    @model_validator(mode="after")
    def _consistent(self) -> HostPlan:
        self._check_buffers()
        known = {*self.tunables, *self.init}
        for condition in self.where:
            _check("where", condition, known)
        known |= {item.name for item in self.input if item.shape is None}
        for name, shape in self.given:
            for extent in shape:
                if isinstance(extent, str) and extent.isidentifier():
                    known.add(extent)
                _check(f"shape of {name!r}", extent, known)
        for output in self.output:
            for extent in output.shape:
                _check(f"shape of {output.name!r}", extent, known)
        for scratch in self.workspace:
            for expression in (*scratch.args, scratch.size or 0):
                _check(f"workspace {scratch.name!r}", expression, known)
        if taken := known & self.buffers:
            raise ValueError(f"{min(taken)!r} names both a tensor and a number")
        self._check_arguments(known | {f"{item.name}_bytes" for item in self.workspace})
        return self

    def _check_buffers(self) -> None:
        every: list[_Named] = [*self.input, *self.weight, *self.output, *self.workspace]
        names = [item.name for item in every]
        names += [STREAM, *(name for name in self.init if name != "_")]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{twice[0]!r} is declared twice")

    def _check_arguments(self, known: set[str]) -> None:
        if STREAM not in self.args:
            raise ValueError(
                f"`args` must hold {STREAM!r}: what does not run on the caller's stream is not "
                "waited for"
            )
        for argument in self.args:
            if argument == STREAM or argument in self.buffers:
                continue
            value = argument.value if isinstance(argument, ScalarArgument) else argument
            _check("args", value, known | self.buffers)
            if used := names_in(value) & self.buffers:
                raise ValueError(f"args: {value!r} calculates with the tensor {min(used)!r}")

    @property
    def space(self) -> TunableSpace:
        return TunableSpace(tunables=self.tunables, where=self.where)

    @property
    def buffers(self) -> frozenset[str]:
        """Names that stand for device memory."""
        made: list[_Named] = [*self.output, *self.workspace]
        return frozenset([*(name for name, _ in self.given), *(item.name for item in made)])

    @property
    def given(self) -> tuple[tuple[str, tuple[Expression, ...]], ...]:
        """Names and declared shapes of the tensors that come from outside, inputs first."""
        inputs = [(item.name, item.shape) for item in self.input if item.shape is not None]
        return (*inputs, *((item.name, item.shape) for item in self.weight))

    def values(self, tunables: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """The defaults, replaced by `tunables` where those are given.

        InputError if one is unknown or out of range, or if a `where` over tunables alone excludes
        the combination.
        """
        values = {**self.space.default(), **tunables}
        self.space.check(values)
        for condition in self.where:
            if names_in(condition) <= values.keys() and not evaluate(condition, values):
                raise InputError(f"these tunables break the plan's own `where` {condition!r}")
        return values

    def macros(self, tunables: Mapping[str, Scalar]) -> tuple[str, ...]:
        """Compiler options that carry the values, in name order."""
        return kernel_macros(self.values(tunables))


def parse_host_plan(source: str) -> HostPlan:
    """Read the plan from the `/* rooftree ... */` comment of a `host` source.

    Raises InputError with the line of the source if the TOML is wrong.
    """
    text, first_line = plan_text(source)
    return read_plan(text, HostPlan, first_line=first_line)


def _check(place: str, expression: Expression | float, known: set[str] | frozenset[str]) -> None:
    for name in sorted(names_in(expression)):
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise ValueError(f"{place}: {expression!r} names unknown {name!r}; known: {listed}")
