"""Micro-tools that are run by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from mcts.domain import Evaluation, Guidance, KernelTask, Profile


class Toolbox(Protocol):
    """What a model may have run on the profile of a variant."""

    @property
    def tools(self) -> Mapping[str, str]:
        """What each tool looks for, by its name."""
        ...

    def run(
        self, names: Iterable[str], task: KernelTask, evaluation: Evaluation, profile: Profile
    ) -> Guidance:
        """What the named tools say, ranked; tools that say nothing are told in the notes."""
        ...
