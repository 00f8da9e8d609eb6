"""What a dialect is to the nouns: its name, and the facts that the other rooms ask for."""

from __future__ import annotations

from collections.abc import Mapping

from mcts.domain.expressions import Scalar
from mcts.domain.tunables import TunableSpace


class Dialect(str):
    """What candidates are written in.

    A dialect is the string of its name, as an `http.HTTPStatus` is a number, so that it is written
    down, compared and hashed as that. Here is what it means to a task; how it is written and how it
    is judged is found under the same name in `codegen.dialects` and `profilers.dialects`.
    """

    __slots__ = ()

    forms: tuple[str, ...] = ()
    """The dialects in which a task of this one may be answered, in the order in which they are
    asked whether a source is theirs; the last takes every source. Empty: this one alone."""
    has_source: bool = True
    """Whether a candidate has source; otherwise the values of its tunables are all of it."""
    in_pytorch: bool = False
    """Whether the task is a KernelBench problem, and PyTorch calls the candidate."""
    baseline_is_reference: bool = False
    """Whether a baseline in this dialect is the problem's own model: nothing is written yet."""
    has_plan: bool = False
    """Whether a source begins with a plan whose defaults are the values of its tunables."""
    declares_launches: bool = False
    """Whether that plan says how each kernel is launched: no host code of a candidate runs."""
    compiles_libraries: bool = False
    """Whether a candidate compiles what it takes of CUTLASS and CUB: those kernels are its own."""
    condenses_logs: bool = False
    """Whether its compiler's log comes condensed, along the instantiations of templates."""
    language: str = "cuda"
    """What a fenced block of it is marked with."""
    suffix: str = ".cu"
    comment: str = "//"

    def recognises(self, source: str) -> bool:
        """Whether a source can be of this dialect, where others come into question."""
        return True

    def space_of(self, source: str) -> TunableSpace | None:
        """The tunables that a source declares; None if sources of this dialect declare none.

        Raises InputError if the declaration cannot be read.
        """
        return None

    def check_names(self, source: str, *, buffers: frozenset[str], shape: frozenset[str]) -> None:
        """Raise InputError if a source's plan names a buffer or a shape variable that its task does
        not declare.
        """

    def check_values(self, source: str, tunables: Mapping[str, Scalar]) -> None:
        """Raise InputError for values that a source's plan excludes on every shape."""
