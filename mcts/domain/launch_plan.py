"""The launch plan: how a `cuda` candidate wants its kernels launched.

It stands as TOML in the first comment of the source, so that people and models write one file.
No host code of a candidate ever runs: the plan is all it can say about launching.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Literal, TypeVar

from pydantic import Discriminator, Field, Tag, ValidationError, field_validator, model_validator

from mcts.domain.base import Noun
from mcts.domain.expressions import Scalar, names_in
from mcts.domain.tunables import Tunable, TunableSpace, check_identifiers
from mcts.errors import InputError
from mcts.formats import FormatError, parse_toml
from mcts.wrong_values import first_problem

DType = Literal["float64", "float32", "float16", "bfloat16", "int64", "int32", "int8", "uint8"]
ITEM_BYTES: dict[str, int] = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2,
    "int64": 8, "int32": 4, "int8": 1, "uint8": 1,
}  # fmt: skip
Expression = str | int
LONGEST_PLAN = 64 * 1024
"""Characters of a plan: ten times the longest we have, and read in a second at worst."""
MOST_TUNABLES = 64
"""Tunables of a plan: each is looked for in its text when defaults are written into it."""
_OPENING = re.compile(r"/\*\s*rooftree\b")
_COMMENT = re.compile(rf"{_OPENING.pattern}(.*?)\*/", re.DOTALL)


class ScalarArgument(Noun):
    """A kernel argument whose C type is not `int`."""

    value: Expression | float
    type: Literal["int32", "uint32", "int64", "float32", "float64"]


class TensorMapArgument(Noun):
    """A kernel argument of 128 bytes that describes a buffer to the Tensor Memory Accelerator.

    `shape`: by default the buffer's own, outermost axis first as there; a workspace has none.
    `box`: the extents of the tile that one copy brings, in the same order. `swizzle`: how wide a
    stretch of shared memory is permuted, in bytes: 0, 32, 64 or 128.
    """

    tensor_map: str
    shape: tuple[Expression, ...] = Field(default=(), max_length=5)
    box: tuple[Expression, ...] = Field(min_length=1, max_length=5)
    swizzle: Expression = 0


def _kind_of_argument(value: object) -> str:
    """Which argument is meant, so that a mistake in it is told as one of that kind alone."""
    of_a_map = isinstance(value, dict) and not TensorMapArgument.model_fields.keys().isdisjoint(
        value
    )
    if isinstance(value, TensorMapArgument) or of_a_map:
        return "tensor map"
    return "scalar" if isinstance(value, dict | ScalarArgument) else "expression"


KernelArgument = Annotated[
    Annotated[Expression, Tag("expression")]
    | Annotated[ScalarArgument, Tag("scalar")]
    | Annotated[TensorMapArgument, Tag("tensor map")],
    Discriminator(_kind_of_argument),
]


class Workspace(Noun):
    """A scratch device buffer of `size` elements, uninitialised at every call."""

    name: str
    dtype: DType = "float32"
    size: Expression


class Launch(Noun):
    """One step of a plan: a kernel launch, or the zero fill of a buffer.

    `shared` is dynamic shared memory in bytes. `when` leaves the step out if it is false.
    String arguments are buffer names first, else expressions passed as 32-bit integers.
    """

    kernel: str | None = None
    memset: str | None = None
    grid: tuple[Expression, ...] = Field(default=(), max_length=3)
    block: tuple[Expression, ...] = Field(default=(), max_length=3)
    shared: Expression = 0
    args: tuple[KernelArgument, ...] = ()
    when: str | None = None

    @property
    def passed(self) -> frozenset[str]:
        """What its arguments name: buffers as such or by a tensor map, and expressions."""
        return frozenset(item for item in self.args if isinstance(item, str)) | {
            item.tensor_map for item in self.args if isinstance(item, TensorMapArgument)
        }

    @model_validator(mode="after")
    def _one_of_two(self) -> Launch:
        if (self.kernel is None) == (self.memset is None):
            raise ValueError("a launch names either `kernel` or `memset`")
        if self.kernel is not None and (not self.grid or not self.block):
            raise ValueError(f"launch of {self.kernel!r} needs `grid` and `block`")
        return self


class LaunchPlan(Noun):
    """Tunables, scratch buffers and launches in order."""

    tunables: dict[str, Tunable] = Field(default={}, max_length=MOST_TUNABLES)
    where: tuple[str, ...] = ()
    workspace: tuple[Workspace, ...] = ()
    launch: tuple[Launch, ...] = Field(min_length=1)

    @field_validator("tunables")
    @classmethod
    def _names_are_identifiers(cls, tunables: dict[str, Tunable]) -> dict[str, Tunable]:
        check_identifiers(tunables)
        return tunables

    @field_validator("where", mode="before")
    @classmethod
    def _one_or_many(cls, where: object) -> object:
        return (where,) if isinstance(where, str) else where

    @property
    def space(self) -> TunableSpace:
        return TunableSpace(tunables=self.tunables, where=self.where)

    @property
    def kernels(self) -> tuple[str, ...]:
        """Kernel names in launch order, each once."""
        return tuple(dict.fromkeys(step.kernel for step in self.launch if step.kernel))

    @property
    def has_tensor_maps(self) -> bool:
        """Whether a kernel takes a tensor map."""
        return any(
            isinstance(item, TensorMapArgument) for step in self.launch for item in step.args
        )

    def check_names(self, *, buffers: frozenset[str], shape: frozenset[str]) -> None:
        """Raise InputError for a buffer, shape variable or tunable that nobody declares."""
        scratch = {item.name for item in self.workspace}
        if clash := scratch & buffers:
            raise InputError(f"workspace {min(clash)!r} has the name of a buffer of the task")
        known = shape | frozenset(self.tunables)
        memory = buffers | frozenset(scratch)
        for where in self.where:
            _check("where", where, known)
        for item in self.workspace:
            _check(f"workspace {item.name!r}", item.size, known)
        for step in self.launch:
            if step.memset is not None and step.memset not in memory:
                raise _unknown_buffer(step.memset, "memset", memory)
            place = f"launch of {step.kernel or 'memset ' + str(step.memset)}"
            for expression in (*step.grid, *step.block, step.shared, step.when or 0):
                _check(place, expression, known)
            for argument in step.args:
                if isinstance(argument, str) and argument in memory:
                    continue
                if isinstance(argument, TensorMapArgument):
                    self._check_tensor_map(argument, place, memory, known)
                    continue
                if isinstance(argument, str) and argument.isidentifier() and argument not in known:
                    raise _unknown_buffer(argument, place, memory | known)
                value = argument.value if isinstance(argument, ScalarArgument) else argument
                _check(place, value, known)

    def _check_tensor_map(
        self,
        argument: TensorMapArgument,
        place: str,
        memory: frozenset[str],
        known: frozenset[str],
    ) -> None:
        name = argument.tensor_map
        if name not in memory:
            raise _unknown_buffer(name, place, memory)
        if not argument.shape and any(item.name == name for item in self.workspace):
            raise InputError(f"{place}: the tensor map of workspace {name!r} needs a `shape`")
        for expression in (*argument.shape, *argument.box, argument.swizzle):
            _check(place, expression, known)


def _check(place: str, expression: Expression | float, known: frozenset[str]) -> None:
    for name in sorted(names_in(expression)):
        if name not in known:
            raise InputError(
                f"{place}: {expression!r} names unknown {name!r}; {_meant(name, known)}"
            )


def _unknown_buffer(name: str, place: str, known: frozenset[str] | set[str]) -> InputError:
    return InputError(f"{place}: unknown buffer {name!r}; {_meant(name, known)}")


def _meant(name: str, known: frozenset[str] | set[str]) -> str:
    """``did you mean x? known: x, y``"""
    listed = f"known: {', '.join(sorted(known)) or 'none'}"
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}? {listed}" if close else listed


def parse_launch_plan(source: str) -> LaunchPlan:
    """Read the plan from the `/* rooftree ... */` comment of a `cuda` source.

    Raises InputError with the line of the source if the TOML is wrong.
    """
    text, first_line = plan_text(source)
    return read_plan(text, LaunchPlan, first_line=first_line)


def find_plan_comment(source: str) -> re.Match[str] | None:
    """The `/* rooftree ... */` comment of a source, its TOML as group 1; None if it has none.

    Takes linear time: behind the first opening that is never closed no other one is.
    """
    opening = _OPENING.search(source)
    return _COMMENT.match(source, opening.start()) if opening else None


def plan_text(source: str) -> tuple[str, int]:
    """The TOML of a source's plan comment, and how many lines stand before it.

    Raises InputError if there is none.
    """
    found = find_plan_comment(source)
    if found is None:
        raise InputError("no launch plan: the source needs a /* rooftree ... */ comment with TOML")
    return found.group(1), source[: found.start(1)].count("\n")


PlanT = TypeVar("PlanT", bound=Noun)


def read_plan(text: str, model: type[PlanT], *, first_line: int = 0) -> PlanT:
    """`text` as a plan. InputError names the line, `first_line` added, if the TOML is wrong."""
    if len(text) > LONGEST_PLAN:
        raise InputError(
            f"launch plan: it has {len(text)} characters, at most {LONGEST_PLAN} are read"
        )
    try:
        table = parse_toml(text)
        return model.model_validate(table)
    except FormatError as error:
        raise InputError(
            f"launch plan is not TOML: {_shift_line(str(error), first_line)}"
        ) from None
    except ValidationError as error:
        raise InputError(f"launch plan: {first_problem(error, model, table=table)}") from None
    except RecursionError:  # within the model's own checks
        raise InputError("launch plan is nested too deeply") from None


def _shift_line(message: str, lines: int) -> str:
    return re.sub(r"line (\d+)", lambda found: f"line {int(found.group(1)) + lines}", message)


def kernel_macros(tunables: Mapping[str, Scalar]) -> tuple[str, ...]:
    """Compiler options that carry tunable values, in name order."""
    return tuple(
        f"-D{name}={int(value) if isinstance(value, bool) else value}"
        for name, value in sorted(tunables.items())
    )
