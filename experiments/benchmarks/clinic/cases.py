"""The kernels of the clinic and the truth about them: planted bottlenecks and right classes.

A set is a folder with a `truth.toml`, its kernels beside it or in `kernels`, and what was recorded
of them in `recordings` beside these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from mcts.domain import (
    BoundClass,
    KernelSpec,
    Limit,
    Noun,
    Scalar,
    first_problem,
    parse_kernel_spec,
)
from mcts.errors import InputError
from mcts.formats import FormatError, parse_toml

FOLDER = Path(__file__).parent
TRUTH = "truth.toml"
BUNDLED = {"clinic": FOLDER, "causes": FOLDER / "causes", "unseen": FOLDER / "unseen"}
"""The sets that come with Rooftree. Of `unseen` no tool may be tuned on what it shows."""
SWITCH = "REPAIRED"
Half = Literal["tuning", "held_out"]
HALVES: tuple[Half, ...] = ("tuning", "held_out")
_MAIN = re.compile(r"^\s*int\s+main\s*\(", re.MULTILINE)


class ClinicKernel(Noun):
    """One file with an ill kernel and its repaired twin, as the truth table declares it.

    `expects` must fire on the ill one and be silent on the repaired one. `also` is true of the ill
    one too, `also_repaired` of the repaired one: those may fire there. Any other finding is a false
    alarm. What is planted may be true of the repaired one to a lesser degree, and is in
    `also_repaired` then. `bound` lists the right roofline classes of the ill one, the first meant
    foremost, `limit` what limits it more finely, where that was said. `folder` has the file.
    """

    folder: Path

    file: str
    half: Half
    ailment: str
    expects: tuple[str, ...] = Field(min_length=1)
    also: tuple[str, ...] = ()
    also_repaired: tuple[str, ...] = ()
    bound: tuple[BoundClass, ...] = Field(alias="class", min_length=1)
    bound_repaired: tuple[BoundClass, ...] = Field(alias="class_repaired", min_length=1)
    limit: tuple[Limit, ...] = ()
    limit_repaired: tuple[Limit, ...] = ()
    why: str

    @property
    def name(self) -> str:
        return self.file.removesuffix(".cu")

    @property
    def path(self) -> Path:
        return self.folder / self.file

    @cached_property
    def source(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def is_program(self) -> bool:
        """Whether it is a whole program rather than device code with a plan."""
        return _MAIN.search(self.source) is not None

    @cached_property
    def spec(self) -> KernelSpec:
        return parse_kernel_spec(self.source)

    def tunables(self, *, repaired: bool) -> dict[str, Scalar]:
        """The values that choose a twin, as `inspect` would be given them."""
        if self.is_program:
            return {SWITCH: 1} if repaired else {}
        return {**self.spec.space.default(), SWITCH: int(repaired)}


@dataclass(frozen=True, slots=True)
class ClinicCase:
    """A kernel as it is examined: the ill kernel or its repaired twin."""

    kernel: ClinicKernel
    repaired: bool

    @property
    def name(self) -> str:
        return f"{self.kernel.name}{' (repaired)' if self.repaired else ''}"

    @property
    def planted(self) -> frozenset[str]:
        """Tools that must fire."""
        return frozenset() if self.repaired else frozenset(self.kernel.expects)

    @property
    def true(self) -> frozenset[str]:
        """Tools that may fire."""
        if self.repaired:
            return frozenset(self.kernel.also_repaired)
        return frozenset((*self.kernel.expects, *self.kernel.also))

    @property
    def bound(self) -> tuple[BoundClass, ...]:
        """Right roofline classes."""
        return self.kernel.bound_repaired if self.repaired else self.kernel.bound

    @property
    def limit(self) -> tuple[Limit, ...]:
        """Right limits, memory's levels apart; none where the table does not say."""
        return self.kernel.limit_repaired if self.repaired else self.kernel.limit

    @property
    def tunables(self) -> dict[str, Scalar]:
        return self.kernel.tunables(repaired=self.repaired)


def find_set(given: str) -> Path:
    """The folder of a set: a bundled one by its name, or a path. InputError for neither."""
    if given in BUNDLED:
        return BUNDLED[given]
    folder = Path(given)
    if not (folder / TRUTH).is_file():
        raise InputError(
            f"{given} is no set of kernels: it has no {TRUTH}; bundled: {', '.join(BUNDLED)}"
        )
    return folder


def kernels_folder(folder: Path = FOLDER) -> Path:
    """Where the kernels of a set are."""
    inner = folder / "kernels"
    return inner if inner.is_dir() else folder


def clinic_kernels(folder: Path = FOLDER) -> tuple[ClinicKernel, ...]:
    """The truth table of a set. InputError if it is not one."""
    path = folder / TRUTH
    place = {"folder": kernels_folder(folder)}
    try:
        table = parse_toml(path.read_text(encoding="utf-8"))
        found = tuple(ClinicKernel.model_validate(entry | place) for entry in table["exhibit"])
    except (OSError, FormatError, KeyError, TypeError) as error:
        raise InputError(f"{path} is no truth table: {error}") from None
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from None
    if lost := [one.file for one in found if not one.path.is_file()]:
        raise InputError(f"{path} names {lost[0]}, which is not in {kernels_folder(folder)}")
    return found


def clinic_cases(kernels: tuple[ClinicKernel, ...]) -> tuple[ClinicCase, ...]:
    """Both twins of every kernel."""
    return tuple(ClinicCase(kernel, repaired) for kernel in kernels for repaired in (False, True))
