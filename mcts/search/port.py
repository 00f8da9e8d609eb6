"""What every search offers: ask and tell, and settings that start it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

from mcts.search.tree import Tree
from mcts.search.trial import Outcome, Trial


class AskTell(Protocol):
    """A search as ask and tell, over a tree of parents.

    The same answers in the same order of asking and telling give the same tree. Not thread-safe.
    """

    @property
    def tree(self) -> Tree: ...

    @property
    def in_flight(self) -> int: ...

    @property
    def asked(self) -> int:
        """How many trials were asked for or added so far; it is the id of the latest."""
        ...

    def ask(self) -> Trial | None:
        """The next trial, or None when there is nothing to try now.

        None with trials in flight means: tell one first. None with none in flight means that the
        proposer has nothing left anywhere.
        """
        ...

    def tell(self, trial_id: int, outcome: Outcome) -> None:
        """Settle a trial. The same outcome told again changes nothing.

        Raises ValueError for a trial that was never asked or was abandoned, and for an outcome
        that contradicts the one told before.
        """
        ...

    def add_judged(self, parent: int, outcome: Outcome) -> int:
        """Add a child that was judged before, outside of any trial; returns its id."""
        ...

    def abandon(self, trial_id: int) -> None:
        """The world failed the trial: it leaves no trace."""
        ...

    def exhaust(self, trial_id: int) -> None:
        """Nothing is left to propose below the trial's parent: abandon it and close the parent."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings(ABC):
    """The constants of a search, which can start it. Subclasses are frozen dataclasses whose
    fields all have defaults.

    `name` is what `--search` calls a search of ours; that of another distribution is called by its
    entry point in the group `rooftree.searches`, which names the subclass.
    """

    name: ClassVar[str] = ""

    @abstractmethod
    def begin(self, root: Outcome, *, seed: int) -> AskTell:
        """Start the search from a root that was judged."""

    def for_run_of(self, trials: int) -> Self:
        """These settings for a run of so many trials; the same unless a constant depends on it."""
        return self


def check_repairs(repairs: int) -> None:
    """Raise ValueError for a number of repairs that means nothing."""
    if repairs < 0:
        raise ValueError("repairs must not be negative")


def check_counts(**counts: int) -> None:
    """Raise ValueError, by name, for a count below 1."""
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{name} must be at least 1")
