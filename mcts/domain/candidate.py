"""A kernel variant: its code and the values of its tunables."""

from __future__ import annotations

from functools import cached_property

from mcts.domain.base import Noun, tagged_hash
from mcts.domain.expressions import Scalar


class Candidate(Noun):
    """Source and tunable values, with what its author claims and why.

    `name` is a few words of its author that tell its code from other variants'; empty without any.
    The id covers what runs (source less trailing space, tunables), not the claims: the same
    code proposed twice for different reasons is one candidate and is measured once.
    """

    source: str = ""
    tunables: dict[str, Scalar] = {}
    methods: tuple[str, ...] = ()
    rationale: str = ""
    name: str = ""

    @cached_property
    def id(self) -> str:
        """Hash of the source, without trailing space, and of the tunables' values."""
        lines = self.source.replace("\r\n", "\n").split("\n")
        text = "\n".join([line.rstrip(" \t") for line in lines]).strip()
        return tagged_hash("candidate", {"source": text, "tunables": self.tunables})
