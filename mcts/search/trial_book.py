"""The bookkeeping of trials that every search shares: asked, in flight, told, abandoned."""

from __future__ import annotations

from abc import ABC, abstractmethod

from mcts.search.backup import add_virtual_loss, back_up, remove_virtual_loss, settle
from mcts.search.seeding import seed_from
from mcts.search.tree import Node, Tree
from mcts.search.trial import Move, Outcome, Trial


class TrialBook(ABC):
    """Ask and tell over a tree: a trial is a pending node until it is told or abandoned.

    A search adds which node is widened next (`_next_parent`) and by which move (`_move`), and what
    follows from a node that was settled (`_settled`) or freed (`_freed`). Not thread-safe.
    """

    def __init__(self, root: Outcome, *, seed: int) -> None:
        self.seed = seed
        self.tree = Tree()
        settle(self.tree.root, root)
        self._asked = 0
        self._in_flight: set[int] = set()
        self._told: dict[int, Outcome] = {0: root}

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    @property
    def asked(self) -> int:
        """How many trials were asked for or added so far; it is the id of the latest."""
        return self._asked

    def ask(self) -> Trial | None:
        """The next trial, or None when there is nothing to try now.

        None with trials in flight means: tell one first. None with none in flight means that the
        proposer has nothing left anywhere.
        """
        parent = self._next_parent()
        if parent is None:
            return None
        self._asked += 1
        trial = Trial(
            id=self._asked,
            parent=parent.id,
            move=self._move(parent),
            seed=seed_from(self.seed, "trial", self._asked),
        )
        add_virtual_loss(self.tree.attach(trial.id, parent.id))
        self._in_flight.add(trial.id)
        self._on_ask(trial)
        return trial

    def tell(self, trial_id: int, outcome: Outcome) -> None:
        """Settle a trial. The same outcome told again changes nothing.

        Raises ValueError for a trial that was never asked or was abandoned, and for an outcome
        that contradicts the one told before.
        """
        if trial_id in self._told:
            if self._told[trial_id] != outcome:
                raise ValueError(f"trial {trial_id} was already told another outcome")
            return
        self._leave_flight(trial_id)
        node = self.tree.nodes[trial_id]
        self._told[trial_id] = outcome
        back_up(node, outcome)
        self._settled(node)

    def add_judged(self, parent: int, outcome: Outcome) -> int:
        """Add a child that was judged before, outside of any trial; returns its id.

        No bound keeps it out: it is there, and a dead parent lives again.
        """
        self._asked += 1
        node = self.tree.attach(self._asked, parent)
        self._told[node.id] = outcome
        settle(node, outcome)
        self._settled(node)
        return node.id

    def abandon(self, trial_id: int) -> None:
        """The world failed the trial: it leaves no trace."""
        self._leave_flight(trial_id)
        node = self.tree.nodes[trial_id]
        remove_virtual_loss(node)
        self._freed(node, self.tree.detach(node))

    def exhaust(self, trial_id: int) -> None:
        """Nothing is left to propose below the trial's parent: abandon it and close the parent."""
        self._check_in_flight(trial_id)
        parent = self.tree.nodes[trial_id].parent
        assert parent is not None, "a trial has a parent"
        parent.exhausted = True
        self.abandon(trial_id)

    @abstractmethod
    def _next_parent(self) -> Node | None:
        """The node to propose from next; None to wait for a trial in flight, or to end."""

    @abstractmethod
    def _move(self, parent: Node) -> Move:
        """What is wanted of the next child of `parent`."""

    def _on_ask(self, trial: Trial) -> None:  # noqa: B027
        """A trial left."""

    @abstractmethod
    def _settled(self, node: Node) -> None:
        """A node was told or added."""

    @abstractmethod
    def _freed(self, node: Node, parent: Node) -> None:
        """A trial came back without an answer; its node is out of the tree."""

    def _leave_flight(self, trial_id: int) -> None:
        self._check_in_flight(trial_id)
        self._in_flight.remove(trial_id)

    def _check_in_flight(self, trial_id: int) -> None:
        if trial_id not in self._in_flight:
            raise ValueError(f"trial {trial_id} is not in flight")
