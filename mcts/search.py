"""Monte Carlo tree search as ask and tell: it sees ids, floats and moves, never a kernel."""

from __future__ import annotations

import heapq

from mcts.backup import arrive, depart, recall, settle
from mcts.pruning import is_closed, refresh_dead, wants_other_approach
from mcts.seeding import seed_from
from mcts.selection import select
from mcts.settings import SearchSettings
from mcts.tree import Node, Tree
from mcts.trial import Move, MoveKind, Outcome, Trial

_MAX_PATIENCE = 1 << 20


class Search:
    """Hands out trials and learns from their outcomes.

    `tell` may come in any order, from any number of trials in flight, and may be repeated: the
    tree depends only on the set of outcomes told. `ask` depends on the tree, the seed and the
    number of trials asked before, so that the same answers in the same order of asking and
    telling give the same tree. Not thread-safe.
    """

    def __init__(self, root: Outcome, *, settings: SearchSettings | None = None, seed: int = 0):
        self.settings = settings or SearchSettings()
        self.seed = seed
        self.tree = Tree()
        settle(self.tree.root, root)
        self._patience = self.settings.patience
        self._asked = 0
        self._in_flight: dict[int, Trial] = {}
        self._told: dict[int, Outcome] = {0: root}
        self._broken: list[int] = []

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    @property
    def asked(self) -> int:
        """How many trials were asked for or planted so far; it is the id of the latest."""
        return self._asked

    def ask(self) -> Trial | None:
        """The next trial, or None when there is nothing to try now.

        None with trials in flight means: tell one first. None with none in flight means that the
        proposer has nothing left anywhere.
        """
        node = self._repairable() or self._opening() or self._select()
        if node is None:
            return None
        self._asked += 1
        trial = Trial(
            id=self._asked,
            parent=node.id,
            move=self._move(node),
            seed=seed_from(self.seed, "trial", self._asked),
        )
        depart(self.tree.attach(trial.id, node.id))
        self._in_flight[trial.id] = trial
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
        arrive(node, outcome)
        self._settled(node)

    def plant(self, parent: int, outcome: Outcome) -> int:
        """Add a child that was judged before, outside of any trial; returns its id.

        Neither the widening bound nor a dead end keeps it out: it is there, and a dead parent
        lives again.
        """
        self._asked += 1
        node = self.tree.attach(self._asked, parent)
        self._told[node.id] = outcome
        settle(node, outcome)
        self._settled(node)
        return node.id

    def abandon(self, trial_id: int) -> None:
        """The world failed the trial: no visit is counted, the virtual loss is removed."""
        self._leave_flight(trial_id)
        node = self.tree.nodes[trial_id]
        recall(node)
        self.tree.detach(node)
        if node.parent is not None:
            self._settled(node.parent)

    def exhaust(self, trial_id: int) -> None:
        """Nothing is left to propose below the trial's parent: abandon it and close the parent."""
        parent = self.tree.nodes[trial_id].parent
        if parent is None:
            raise ValueError("the root is no trial")
        parent.exhausted = True
        self.abandon(trial_id)

    def _move(self, node: Node) -> Move:
        far = self._is_opening(node)
        return Move(self._kind_of_move(node), len(node.children), far)

    def _kind_of_move(self, node: Node) -> MoveKind:
        if node.state == "failed":
            return "repair"
        return "diversify" if wants_other_approach(node, self.settings) else "improve"

    def _is_opening(self, node: Node) -> bool:
        return node.parent is None and len(node.children) < self.settings.far_proposals

    def _opening(self) -> Node | None:
        """The root, as long as it has not got its far proposals."""
        root = self.tree.root
        closed = is_closed(root, self.settings, patience=self._patience)
        return root if self._is_opening(root) and not closed else None

    def _settled(self, node: Node) -> None:
        """What follows from a change at `node`: it may be a dead end, or a failure to repair."""
        refresh_dead(node, self.settings, patience=self._patience)
        if node.state == "failed" and self.settings.repair_at_once:
            heapq.heappush(self._broken, node.id)

    def _repairable(self) -> Node | None:
        """The oldest failure that is open; which one does not depend on the order of telling."""
        while self._broken:
            node = self.tree.nodes[heapq.heappop(self._broken)]
            if not is_closed(node, self.settings, patience=self._patience):
                return node
        return None

    def _leave_flight(self, trial_id: int) -> None:
        if self._in_flight.pop(trial_id, None) is None:
            raise ValueError(f"trial {trial_id} is not in flight")

    def _select(self) -> Node | None:
        while True:
            seed = seed_from(self.seed, "tie", self._asked)
            node = select(self.tree.root, self.settings, seed=seed, patience=self._patience)
            if node is not None or self._in_flight or self._patience > _MAX_PATIENCE:
                return node
            self._reopen()

    def _reopen(self) -> None:
        """Pruning must never give up the whole tree: with nothing left, be more patient."""
        self._patience *= 2
        for node in reversed(list(self.tree.nodes.values())):
            refresh_dead(node, self.settings, patience=self._patience)
