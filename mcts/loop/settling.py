"""Settling a trial: its outcome for the search, its lessons, its node, and the branches it leaves.

Each answered trial becomes a node. So does a branch of an earlier trial, if the node that it lost
to leads no further.
"""

from __future__ import annotations

from typing import Any

from mcts.errors import NoMoves, NotRecorded, WorldError
from mcts.journal.runlog import RunLog
from mcts.loop.branches import Frontier, candidates_of
from mcts.loop.briefing import Briefing
from mcts.loop.ledger import Ledger
from mcts.loop.progress import Reporter, describe
from mcts.loop.reward import RewardScale
from mcts.loop.world import Answer
from mcts.ports import Proposal
from mcts.search.port import AskTell
from mcts.search.trial import Outcome, Trial


class Settler:
    """Settles trials in the tree, the ledger and the journal. Not thread-safe."""

    def __init__(
        self,
        *,
        search: AskTell,
        scale: RewardScale,
        ledger: Ledger,
        briefing: Briefing,
        log: RunLog,
        reporter: Reporter,
    ) -> None:
        self._search, self._scale, self._ledger = search, scale, ledger
        self._briefing, self._log, self._reporter = briefing, log, reporter
        self._frontier = Frontier()

    def settle(self, trial: Trial, answer: Answer) -> None:
        """Tell the search the outcome of a trial, and learn from it."""
        if isinstance(answer.error, NoMoves):
            self._search.exhaust(trial.id)
            self.restart_beside(trial.parent)
            return
        if isinstance(answer.error, NotRecorded) and answer.proposal is None:
            self._ledger.note_unrecorded(trial.parent, str(answer.error))
            self._search.abandon(trial.id)
            return
        outcome = outcome_of(answer, ledger=self._ledger, scale=self._scale)
        self._briefing.learn(trial.parent, answer)
        self._search.tell(trial.id, outcome)
        self._keep_losers(trial, answer)
        self.enter(trial.id, trial.parent, answer, outcome)

    def abandon(self, trial: Trial, answer: Answer, error: WorldError) -> bool:
        """Forget a trial that the world failed, so that its candidate may be proposed again.

        Returns whether the journal held that already.
        """
        if answer.proposal is not None:
            self._ledger.tried.difference_update(candidates_of(answer.proposal))
        payload: dict[str, Any] = {"trial": trial.id, "reason": str(error)}
        if error.usage:
            payload["usage"] = dict(error.usage)
        if answer.seconds:
            payload["seconds"] = answer.seconds
        known = self._log.confirm("abandoned", payload)
        self._search.abandon(trial.id)
        return known

    def restart_beside(self, node: int) -> None:
        """Make the best branch that lost to `node`, which leads no further, a sibling of it.

        Does nothing if no branch is left. The branch is measured already, so this costs nothing.
        """
        branch = self._frontier.take(node, self._ledger.ranking, known=self._ledger.nodes)
        if branch is None:
            return
        answer = Answer(Proposal(candidate=branch.candidate, prior=branch.prior), branch.evaluation)
        outcome = outcome_of(answer, ledger=self._ledger, scale=self._scale)
        self._briefing.learn(branch.parent, answer)
        added = self._search.add_judged(branch.parent, outcome)
        self._frontier.pass_on(node, added)
        self._ledger.restarts += 1
        self._log.confirm("restarted", {"trial": added, "candidate_id": branch.candidate.id})
        self.enter(added, branch.parent, answer, outcome)

    def enter(self, node: int, parent: int | None, answer: Answer, outcome: Outcome) -> None:
        """Put a node that the search knows into the ledger and the journal."""
        line = self._ledger.enter(node, parent, answer, outcome)
        known = self._log.confirm("told", {**line, "elapsed_s": round(self._log.elapsed_s, 3)})
        self._reporter.say(describe(line, answer), replaying=known)

    def _keep_losers(self, trial: Trial, answer: Answer) -> None:
        """Keep the branches that lost, to restart from, under the node that they lost to."""
        earlier = self._ledger.duplicated_by(answer)
        self._frontier.keep(
            trial.id if earlier is None else earlier,
            answer.losers,
            parent=self._ledger.evaluations[trial.parent],
            reward=self._scale.reward,
        )


def outcome_of(answer: Answer, *, ledger: Ledger, scale: RewardScale) -> Outcome:
    """The outcome that the search is told; only the first node of a candidate can be expanded."""
    evaluation, prior = answer.evaluation, answer.proposal.prior if answer.proposal else 0.5
    is_new = evaluation is not None and ledger.duplicated_by(answer) is None
    if evaluation is None or not evaluation.measured:
        return Outcome("failed", prior=prior, expandable=is_new)
    reward = scale.reward(evaluation)
    peak = scale.near_peak(evaluation)
    return Outcome("measured", reward=reward, prior=prior, expandable=is_new, near_peak=peak)
