"""The best of a run is found step by step as it would be found among all of them at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import Candidate
from mcts.domain.objective import Ranking, standing
from mcts.loop.ledger import Ledger
from mcts.loop.world import Answer
from mcts.ports import Proposal
from mcts.search.trial import Outcome
from tests.support.evaluations import measured

SPEEDUPS = st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0]), min_size=1, max_size=20)


@given(speedups=SPEEDUPS, asked=st.sets(st.integers(0, 20)))
def test_the_best_so_far_is_the_best_of_all(speedups: list[float], asked: set[int]) -> None:
    ledger = Ledger(Ranking(baseline_id="0"))
    for node, speedup in enumerate([1.0, *speedups]):
        evaluation = measured(speedup, name=str(node))
        proposal = Proposal(candidate=Candidate(source=f"// {node}"), prior=0.5)
        ledger.enter(
            node, 0 if node else None, Answer(proposal, evaluation), Outcome("measured", reward=0.5)
        )
        if node in asked:
            assert ledger.best() == ledger.ranking.best(standing(ledger.measured, {}))
    assert ledger.best() == ledger.ranking.best(standing(ledger.measured, {}))
    ledger.confirmed = {"1": measured(9.0, name="1")}
    assert ledger.best() == 1
