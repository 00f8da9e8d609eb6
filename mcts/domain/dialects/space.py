"""The dialect `space`: a recorded space without source, whose configurations are the task."""

from __future__ import annotations

from mcts.domain.dialects.dialect import Dialect


class Space(Dialect):
    """Values of tunables and nothing else."""

    __slots__ = ()

    has_source = False


SPACE = Space("space")
