"""A kernel to be written in other forms: its task, its candidate, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from codegen.plan_text import file_text, plan_of, stands_alone, values_of
from mcts.domain import Candidate, Dialect, KernelTask, LaunchPlan, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What comments say of where a kernel comes from.

    found: its speedup, over what and on which hardware, as one clause. node, seed: of the search.
    architecture: the compiler's name of the GPU that was measured.
    """

    found: str
    node: int
    seed: int
    architecture: str = "native"

    @property
    def nvcc_target(self) -> str:
        """The compiler's options for that GPU. With a bare ``-arch=sm_90a`` nvcc 13.0 also compiles
        for sm_90, which lacks what the letter stands for.
        """
        name = self.architecture
        if not name.endswith("a"):
            return f"-arch={name}"
        return f"-gencode arch={name.replace('sm_', 'compute_')},code={name}"


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A candidate with the task that it answers."""

    task: KernelTask
    candidate: Candidate
    origin: Origin

    @property
    def dialect(self) -> Dialect:
        """What the candidate is written in."""
        return self.task.dialect_of(self.candidate.source)

    @cached_property
    def plan(self) -> LaunchPlan:
        """Its launch plan. InputError if it has none, as PyTorch code has not."""
        return plan_of(self.candidate.source)

    @cached_property
    def tunables(self) -> dict[str, Scalar]:
        """The value of every tunable of its plan."""
        return values_of(self.candidate)

    @cached_property
    def text(self) -> str:
        """Its source; the values are the defaults of its plan if they can be written there."""
        return file_text(self.candidate) if self.dialect.has_plan else self.candidate.source

    @property
    def file_name(self) -> str:
        """What a file of its own is called."""
        return f"kernel{self.dialect.suffix}"

    @cached_property
    def settings(self) -> tuple[str, ...]:
        """``NAME=VALUE`` of all tunables if `text` does not hold their values."""
        if self.dialect.has_plan and stands_alone(self.candidate):
            return ()
        return tuple(f"{name}={value}" for name, value in self.candidate.tunables.items())
