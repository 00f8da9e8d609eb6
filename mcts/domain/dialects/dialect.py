"""What a dialect is: its name, and the facts about it that other packages ask for."""

from __future__ import annotations

from collections.abc import Mapping

from mcts.domain.expressions import Scalar
from mcts.domain.tunables import TunableSpace


class Dialect(str):
    """What candidates are written in.

    A dialect is a string, its name, as an `http.HTTPStatus` is a number: it is serialised, compared
    and hashed as that. This class says what it means for a task; the modules of the same name in
    `codegen.dialects` and `profilers.dialects` say how candidates are written and judged.
    """

    __slots__ = ()

    forms: tuple[str, ...] = ()
    """The dialects that candidates of such a task may have, in the order in which they are asked
    whether they recognise a source; the last recognises every source. Empty: this one alone."""
    has_source: bool = True
    """Whether a candidate has source; otherwise it is nothing but the values of its tunables."""
    in_pytorch: bool = False
    """Whether the task is a KernelBench problem, and PyTorch calls the candidate."""
    baseline_is_reference: bool = False
    """Whether a baseline in this dialect is the problem's own model: no kernel is written yet."""
    has_plan: bool = False
    """Whether a source begins with a plan whose defaults are the values of its tunables."""
    declares_launches: bool = False
    """Whether that plan says how each kernel is launched: no host code of a candidate runs."""
    compiles_libraries: bool = False
    """Whether a candidate compiles what it uses of CUTLASS and CUB: those kernels are its own."""
    condenses_logs: bool = False
    """Whether compiler logs are condensed, since template instantiations make them long."""
    language: str = "cuda"
    """The language tag of a fenced code block."""
    suffix: str = ".cu"
    comment: str = "//"

    def recognises(self, source: str) -> bool:
        """Whether a source can be of this dialect; asked if the task takes several."""
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
