"""The bookkeeping that all searches but the tree search share; each adds how it picks a parent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from mcts.backup import arrive, depart, recall, settle
from mcts.pruning import failures
from mcts.seeding import seed_from
from mcts.tree import Node, Tree
from mcts.trial import Move, Outcome, Trial


class ParentSearch(ABC):
    """Trials with a parent each; what came of them is kept as a tree.

    A child that failed may be repaired: its line gets up to `repairs` further tries, each on what
    the one before it left behind, before the search turns to anything else. Where `_parent` finds
    nothing and no trial is out, the best node that is still open is taken, so that a search ends
    only once the proposer has nothing left anywhere.
    """

    def __init__(self, root: Outcome, *, repairs: int, seed: int) -> None:
        self.seed = seed
        self.tree = Tree()
        settle(self.tree.root, root)
        self._repairs = repairs
        self._asked = 0
        self._in_flight: dict[int, Trial] = {}
        self._told: dict[int, Outcome] = {0: root}
        self._broken: list[Node] = []

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    @property
    def asked(self) -> int:
        """How many trials were asked for or planted so far; it is the id of the latest."""
        return self._asked

    def ask(self) -> Trial | None:
        """The next trial, or None when there is nothing to try now; see `AskTell.ask`."""
        node = self._repairable() or self._parent()
        if node is None and not self._in_flight:
            node = self._best_open(self.tree.nodes.values())
        if node is None:
            return None
        self._asked += 1
        trial = Trial(
            id=self._asked,
            parent=node.id,
            move=Move("repair" if node.state == "failed" else "improve", len(node.children)),
            seed=seed_from(self.seed, "trial", self._asked),
        )
        depart(self.tree.attach(trial.id, node.id))
        self._in_flight[trial.id] = trial
        self._on_ask(trial)
        return trial

    def tell(self, trial_id: int, outcome: Outcome) -> None:
        """Settle a trial; the same outcome told again changes nothing. See `AskTell.tell`."""
        if trial_id in self._told:
            if self._told[trial_id] != outcome:
                raise ValueError(f"trial {trial_id} was already told another outcome")
            return
        self._leave_flight(trial_id)
        node = self.tree.nodes[trial_id]
        self._told[trial_id] = outcome
        arrive(node, outcome)
        self._settled(node)

    def plant(self, parent: int, outcome: Outcome) -> int:
        """Add a child that was judged before, outside of any trial; returns its id."""
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
        recall(node)
        self.tree.detach(node)
        parent = node.parent
        if parent is not None and parent.state == "failed" and not parent.exhausted:
            self._broken.append(parent)
        self._on_abandon(node)

    def exhaust(self, trial_id: int) -> None:
        """Nothing is left to propose below the trial's parent: abandon it and close the parent."""
        parent = self.tree.nodes[trial_id].parent
        if parent is None:
            raise ValueError("the root is no trial")
        parent.exhausted = True
        self.abandon(trial_id)

    @abstractmethod
    def _parent(self) -> Node | None:
        """The measured, open node to propose from next; None to wait for a trial in flight."""

    def _on_ask(self, trial: Trial) -> None:  # noqa: B027
        """A trial left."""

    def _on_abandon(self, node: Node) -> None:  # noqa: B027
        """A trial came back without an answer; its node is out of the tree."""

    def _on_tell(self, node: Node) -> None:  # noqa: B027
        """A node was settled."""

    # What the searches need.

    def _draw(self, *purpose: int | str) -> int:
        """A number that depends on the seed, on how often was asked, and on the purpose."""
        return seed_from(self.seed, *purpose, self._asked)

    def _best_open(self, nodes: Iterable[Node]) -> Node | None:
        """The open node of the highest reward; ties are broken by the seed, anew at each ask."""
        pool = [node for node in nodes if is_open(node)]
        if not pool:
            return None
        top = max(node.reward for node in pool)
        tied = [node for node in pool if node.reward == top]
        tie = self._draw("tie")
        return min(tied, key=lambda node: seed_from(tie, node.id))

    # Repairs.

    def _settled(self, node: Node) -> None:
        if node.state == "failed" and not node.exhausted:
            self._broken.append(node)
        self._on_tell(node)

    def _repairable(self) -> Node | None:
        """The oldest broken line with a repair left; one repair of a line is out at a time."""
        while self._broken:
            node = self._broken.pop(0)
            if not node.exhausted and not node.children and failures(node) <= self._repairs:
                return node
        return None

    def _leave_flight(self, trial_id: int) -> None:
        if self._in_flight.pop(trial_id, None) is None:
            raise ValueError(f"trial {trial_id} is not in flight")


def is_open(node: Node) -> bool:
    """Whether `node` was measured and may be proposed from."""
    return node.state == "measured" and not node.exhausted


def uniform(seed: int) -> float:
    """A number in [0, 1) from a seed of `seed_from`, which has 63 bits."""
    return seed / (1 << 63)
