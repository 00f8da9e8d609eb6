"""Branch and select: the best of a proposal's branches becomes the node, the others are kept.

After the branch-and-select exploration of cuda-optimized-skill V2: one idea is verified and timed
with several values of its tunables, without profiling, so that one unlucky choice of values does
not decide about the idea.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass

from mcts.domain import Candidate, Evaluation
from mcts.domain.objective import Ranking
from mcts.ports import Proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A measured variant of a trial below `parent` that did not become the trial's node."""

    parent: int
    candidate: Candidate
    evaluation: Evaluation
    prior: float


def candidates_of(proposal: Proposal) -> dict[str, Candidate]:
    """The proposal's own candidate and then its branches, by id, each once."""
    return {candidate.id: candidate for candidate in (proposal.candidate, *proposal.branches)}


def select(evaluations: Mapping[int, Evaluation], ranking: Ranking) -> int | None:
    """Returns the number of the branch that becomes the node; 0 is the proposal's own candidate.

    That is the best one measured, but the proposal's own unless another is better beyond the noise.
    Returns None if nothing was measured.
    """
    measured = {at: each for at, each in evaluations.items() if ranking.gain(each) is not None}
    best = ranking.best(measured)
    if best is None or 0 not in measured or _beats(measured[best], measured[0], ranking):
        return best
    return 0


def _beats(challenger: Evaluation, holder: Evaluation, ranking: Ranking) -> bool:
    mine, theirs = ranking.gain(challenger), ranking.gain(holder)
    assert mine is not None and theirs is not None, "both were measured"
    if mine > theirs * (1 + ranking.noise):
        return True
    return ranking.objective == "energy" and ranking.best({0: holder, 1: challenger}) == 1


class Frontier:
    """Branches to restart from, by the node that they lost to.

    A branch is kept if it is no worse than its parent. It is taken when the node it lost to leads
    no further: it becomes a sibling of that node at no cost, since it is measured already.
    """

    def __init__(self) -> None:
        self._kept: dict[int, list[Branch]] = {}

    def keep(
        self,
        winner: int,
        branches: Iterable[Branch],
        *,
        parent: Evaluation | None,
        reward: Callable[[Evaluation], float],
    ) -> None:
        """Keep the branches whose reward is no less than that of `parent`, their parent's."""
        floor = reward(parent) if parent is not None else 0.0
        kept = [branch for branch in branches if reward(branch.evaluation) >= floor]
        if kept:
            self._kept.setdefault(winner, []).extend(kept)

    def take(self, winner: int, ranking: Ranking, *, known: Container[str]) -> Branch | None:
        """Remove and return the best branch that lost to `winner`; None if none is left.

        `known` has the ids of the candidates that are nodes by now: they are not returned.
        """
        kept = [b for b in self._kept.pop(winner, []) if b.candidate.id not in known]
        best = ranking.best({at: branch.evaluation for at, branch in enumerate(kept)})
        if best is None:
            return None
        taken = kept.pop(best)
        self._kept[winner] = kept
        return taken

    def pass_on(self, winner: int, successor: int) -> None:
        """Keep the branches left at `winner` for `successor`, the node made from the one taken."""
        if kept := self._kept.pop(winner, None):
            self._kept.setdefault(successor, []).extend(kept)
