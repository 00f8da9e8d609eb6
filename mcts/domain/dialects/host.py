"""The dialect `host`: one `.cu` with a launcher in answer to a KernelBench problem."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from mcts.domain.dialects.dialect import Dialect
from mcts.domain.expressions import Scalar
from mcts.domain.host_plan import parse_host_plan
from mcts.domain.launch_plan import find_plan_comment
from mcts.domain.tunables import TunableSpace

_BLANK = re.compile(r"[\ufeff \n\t\r]+|//[^\n]*|/\*.*?\*/", re.DOTALL)
"""White space, or one comment."""


class Host(Dialect):
    """Host and device code, compiled by nvcc."""

    __slots__ = ()

    forms = ("host", "kernelbench")
    in_pytorch = True
    has_plan = True
    compiles_libraries = True
    condenses_logs = True

    def recognises(self, source: str) -> bool:
        """Whether a source begins with a plan, after comments and white space; no Python does."""
        found = find_plan_comment(source)
        if found is None:
            return False
        position = 0
        while position < found.start() and (blank := _BLANK.match(source, position)):
            position = blank.end()
        return position == found.start()

    def space_of(self, source: str) -> TunableSpace:
        """The tunables of the host plan."""
        return _space_of(source)

    def check_values(self, source: str, tunables: Mapping[str, Scalar]) -> None:
        parse_host_plan(source).values(tunables)


@lru_cache(maxsize=256)
def _space_of(source: str) -> TunableSpace:
    return parse_host_plan(source).space


HOST = Host("host")
