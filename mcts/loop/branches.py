"""Branch and select: of one proposal's branches the best becomes the node, the rest are kept.

After the branch-and-select exploration of cuda-optimized-skill V2: the same idea with several
values of its tunables is verified and timed, without profiling, so that an idea is not judged by
one unlucky choice of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass

from mcts.domain import Candidate, Evaluation
from mcts.domain.objective import Ranking
from mcts.ports import Proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A variant that was measured but did not become the node of its trial, a child of `parent`."""

    parent: int
    candidate: Candidate
    evaluation: Evaluation
    prior: float


def candidates_of(proposal: Proposal) -> dict[str, Candidate]:
    """By id, the proposal's own candidate first, then its branches, each once."""
    return {candidate.id: candidate for candidate in (proposal.candidate, *proposal.branches)}


def select(evaluations: Mapping[int, Evaluation], ranking: Ranking) -> int | None:
    """The number of the branch that becomes the node; 0 is the proposal's own candidate.

    The best that was measured, but the proposal's own where none is better beyond the noise. None
    where nothing was measured.
    """
    measured = {at: found for at, found in evaluations.items() if ranking.gain(found) is not None}
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

    A branch is kept where it is no worse than the node whose child it would be. It is taken when
    the node it lost to leads no further: a sibling of that node which costs neither a reply nor a
    measurement.
    """

    def __init__(self) -> None:
        self._kept: dict[int, list[Branch]] = {}

    def keep(
        self,
        winner: int,
        branches: Iterable[Branch],
        *,
        worth: Evaluation | None,
        reward: Callable[[Evaluation], float],
    ) -> None:
        """Keep those that are no worse than their parent's own `worth`."""
        floor = reward(worth) if worth is not None else 0.0
        kept = [branch for branch in branches if reward(branch.evaluation) >= floor]
        if kept:
            self._kept.setdefault(winner, []).extend(kept)

    def take(self, winner: int, ranking: Ranking, *, known: Container[str]) -> Branch | None:
        """The best branch that lost to `winner`, kept no longer; None where none is left.

        `known` are the candidates that stand in the tree by now.
        """
        kept = [b for b in self._kept.pop(winner, []) if b.candidate.id not in known]
        best = ranking.best({at: branch.evaluation for at, branch in enumerate(kept)})
        if best is None:
            return None
        taken = kept.pop(best)
        self._kept[winner] = kept
        return taken

    def pass_on(self, winner: int, heir: int) -> None:
        """What is left goes to the branch that was taken: it is the next to lead further or not."""
        if kept := self._kept.pop(winner, None):
            self._kept.setdefault(heir, []).extend(kept)
