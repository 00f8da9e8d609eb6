"""What the loop knows of each settled node, and the totals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcts.domain import Candidate, Evaluation, Guidance, Profile
from mcts.domain.objective import Ranking, standing
from mcts.journal.record import NodeKind
from mcts.loop.exemplars import Exemplars
from mcts.loop.world import Answer
from mcts.ports import Attempt
from mcts.search.trial import Outcome


class Ledger:
    """Candidates, evaluations and guidance by node id; node 0 is the baseline.

    `measured` holds the evaluations that are results, `best_speedup` the greatest speedup among
    those that may be handed back, `best_proposed` that of the proposed ones. `confirmed` holds the
    second measurements of finalists, by candidate. `nodes` has the first node of each candidate,
    `children` the attempts below a node, oldest first, and `history` the first attempt of each
    candidate, in the order of evaluation; attempts have the speedups that candidates are compared
    by. `tried` holds the ids of all proposed candidates, except
    those of abandoned trials.
    """

    def __init__(self, ranking: Ranking) -> None:
        self.ranking = ranking
        self.confirmed: dict[str, Evaluation] = {}
        self.measured: dict[int, Evaluation] = {}
        self.best_speedup = self.best_proposed = 0.0
        self.candidates: dict[int, Candidate] = {}
        self.evaluations: dict[int, Evaluation | None] = {}
        self.guidance: dict[int, Guidance] = {}
        self.profiles: dict[int, Profile] = {}
        self.parents: dict[int, int] = {}
        self.children: dict[int, list[Attempt]] = {}
        self.exemplars = Exemplars()
        self.nodes: dict[str, int] = {}
        self.history: dict[str, Attempt] = {}
        self.tried: set[str] = set()
        self.failed = 0
        self.restarts = 0
        self._evaluated: set[str] = set()
        self._best, self._unranked = 0, list[int]()

    @property
    def told(self) -> int:
        """How many trials were told so far; the baseline and restarts are not trials."""
        return max(0, len(self.evaluations) - 1 - self.restarts)

    @property
    def unique(self) -> int:
        """How many distinct candidates were evaluated: branches and failures, not the baseline."""
        return max(0, len(self._evaluated) - 1)

    def duplicated_by(self, answer: Answer) -> int | None:
        """The earlier node of the same candidate; None if the candidate is new."""
        if answer.proposal is None or answer.evaluation is None:
            return None
        return self.nodes.get(answer.proposal.candidate.id)

    def enter(
        self, node: int, parent: int | None, answer: Answer, outcome: Outcome
    ) -> Mapping[str, Any]:
        """Keep a settled node; returns its line for the journal."""
        earlier = self.duplicated_by(answer)
        candidate = answer.proposal.candidate if answer.proposal else None
        evaluation = answer.evaluation
        self.evaluations[node] = evaluation
        speedup = None if evaluation is None else self.ranking.speedup(evaluation)
        if evaluation is not None and speedup is not None:
            self.measured[node] = evaluation
            self._unranked.append(node)
            if not evaluation.held_back:
                self.best_speedup = max(self.best_speedup, speedup)
                if node:
                    self.best_proposed = max(self.best_proposed, speedup)
        self.failed += outcome.kind == "failed"
        if candidate is not None:
            self.candidates[node] = candidate
            self.tried.update({candidate.id, *answer.judged})
            if evaluation is not None:
                self.nodes.setdefault(candidate.id, node)
                self._evaluated.add(candidate.id)
        self._evaluated.update(answer.judged)
        reason = str(answer.error or (evaluation.message if evaluation else ""))
        compared = evaluation and self.ranking.as_compared(evaluation)
        attempt = Attempt(candidate=candidate, evaluation=compared, reason=reason)
        self.exemplars.add(attempt)
        if candidate is not None and evaluation is not None:
            self.history.setdefault(candidate.id, attempt)
        if parent is not None:
            self.parents[node] = parent
            self.children.setdefault(parent, []).append(attempt)
        return {
            "trial": node,
            "parent": parent,
            "kind": kind_of(evaluation, duplicate=earlier is not None),
            "candidate_id": candidate.id if candidate else None,
            "outcome": outcome.kind,
            "reward": outcome.reward,
            "prior": outcome.prior,
            "expandable": outcome.expandable,
            "duplicate_of": earlier,
            "reason": reason,
        }

    def note_unrecorded(self, parent: int, reason: str) -> None:
        """A proposal that the recording does not hold: others of the parent are told of it."""
        self.children.setdefault(parent, []).append(Attempt(reason=reason))

    def verdict(self, node: int) -> Evaluation | None:
        """The evaluation that counts: the confirmation if there is one; None if nothing was
        evaluated.
        """
        evaluation = self.evaluations[node]
        if evaluation is None:
            return None
        return self.confirmed.get(evaluation.candidate_id, evaluation)

    def best(self) -> int:
        """The node to hand back, by the objective; the baseline if nothing better may be."""
        if self.confirmed or self.ranking.objective == "energy":
            return self.ranking.best(standing(self.measured, self.confirmed)) or 0
        # The order of two nodes does not depend on others, so that the best of before and what is
        # new since are enough.
        if self._unranked:
            nodes = {self._best, *self._unranked} & self.measured.keys()
            among = {node: self.measured[node] for node in nodes}
            self._best = self.ranking.best(standing(among, {})) or 0
            self._unranked.clear()
        return self._best


def kind_of(evaluation: Evaluation | None, *, duplicate: bool) -> NodeKind:
    """The kind of node that a settled trial becomes."""
    if evaluation is None:
        return "rejected"
    if duplicate:
        return "duplicate"
    return "measured" if evaluation.measured else "failed"
