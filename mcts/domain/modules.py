"""The submodules of a PyTorch candidate, and which share of a call's time is whose."""

from __future__ import annotations

from collections.abc import Sequence, Set

from pydantic import Field

from mcts.domain.base import Noun


class ModelModule(Noun):
    """A submodule of a PyTorch candidate: how often a call runs it, and how long that takes.

    `us` are microseconds a call, those of the modules inside of it included; `inputs` and `output`
    are shapes of its first run.
    """

    path: str
    kind: str
    inputs: str = ""
    output: str = ""
    calls: int = Field(default=1, ge=1)
    us: float = Field(ge=0, allow_inf_nan=False)


class ModuleTimes(Noun):
    """The submodules of a PyTorch candidate that ran, and the microseconds of a whole call when
    they were timed."""

    us: float = Field(gt=0, allow_inf_nan=False)
    modules: tuple[ModelModule, ...] = Field(min_length=1)

    def share(self, module: ModelModule) -> float:
        """The module's share of a call's time."""
        return module.us / self.us

    def parts(self, *, most: int, largest: float = 0.25) -> tuple[ModelModule, ...]:
        """The modules that a call's time falls into, none of which holds another, in the model's
        order.

        A module with more than the share `largest` is told by those in it, if they take most of
        its time. At most `most`: those that take longest.
        """
        chosen = self._split(self._inside(""), largest)
        longest = sorted(chosen, key=lambda module: -module.us)[:most]
        return tuple(module for module in chosen if module in longest)

    def _split(self, modules: Sequence[ModelModule], largest: float) -> list[ModelModule]:
        found: list[ModelModule] = []
        for module in modules:
            inside = self._inside(module.path)
            told = sum(one.us for one in inside)
            whole = self.share(module) <= largest or told <= module.us / 2
            found += [module] if whole else self._split(inside, largest)
        return found

    def _inside(self, path: str) -> list[ModelModule]:
        """The modules that no other holds between them and `path`, which is "" for the model."""
        known = {one.path for one in self.modules}
        return [one for one in self.modules if _holder(one.path, known) == path]


def _holder(path: str, known: Set[str]) -> str:
    """The innermost known module that holds the one at `path`; "" if none does."""
    while path := path.rpartition(".")[0]:
        if path in known:
            return path
    return ""
