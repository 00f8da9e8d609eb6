"""What every search offers, and what its settings offer to the loop that starts it."""

from __future__ import annotations

from dataclasses import Field
from typing import Any, ClassVar, Protocol, runtime_checkable

from mcts.search.puct import Search
from mcts.search.puct_settings import SearchSettings
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
        """How many trials were asked for or planted so far; it is the id of the latest."""
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

    def plant(self, parent: int, outcome: Outcome) -> int:
        """Add a child that was judged before, outside of any trial; returns its id."""
        ...

    def abandon(self, trial_id: int) -> None:
        """The world failed the trial: it leaves no trace."""
        ...

    def exhaust(self, trial_id: int) -> None:
        """Nothing is left to propose below the trial's parent: abandon it and close the parent."""
        ...


@runtime_checkable
class SearchPlan(Protocol):
    """The constants of a search, which can start it; a frozen dataclass.

    What the entry-point group `rooftree.searches` names is a callable that makes one.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def begin(self, root: Outcome, *, seed: int) -> AskTell: ...


AnySettings = SearchSettings | SearchPlan


def begin(settings: AnySettings, root: Outcome, *, seed: int) -> AskTell:
    """Start the search that these settings belong to, from a root that was judged."""
    if isinstance(settings, SearchSettings):
        return Search(root, settings=settings, seed=seed)
    return settings.begin(root, seed=seed)
