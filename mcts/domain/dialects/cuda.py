"""The dialect `cuda`: device code with a launch plan; a candidate has no host code."""

from __future__ import annotations

from functools import lru_cache

from mcts.domain.dialects.dialect import Dialect
from mcts.domain.launch_plan import parse_launch_plan
from mcts.domain.tunables import TunableSpace


class Cuda(Dialect):
    """Kernels that are launched according to their plan."""

    __slots__ = ()

    has_plan = True
    declares_launches = True

    def space_of(self, source: str) -> TunableSpace:
        """The tunables of the launch plan."""
        return _space_of(source)

    def check_names(self, source: str, *, buffers: frozenset[str], shape: frozenset[str]) -> None:
        parse_launch_plan(source).check_names(buffers=buffers, shape=shape)


@lru_cache(maxsize=256)
def _space_of(source: str) -> TunableSpace:
    return parse_launch_plan(source).space


CUDA = Cuda("cuda")
