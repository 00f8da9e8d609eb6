"""The record of a run's figures, and its JSON."""

from __future__ import annotations

import pytest

from mcts.journal.record import Result, read_result
from mcts.journal.summary import Provenance, RunSummary, flat
from mcts.testing.toy import MemoryJournal
from tests.mcts.journal.paid import CENTS, PaidToy, UnsteadyBaseline, optimizer

RUN = Provenance(task="toy", evaluator="gpu", proposer="paid", hardware="none", seed=3)


@pytest.fixture(scope="module")
def result() -> Result:
    journal = MemoryJournal()
    optimizer(journal, PaidToy(branches=3), evaluations=12).run()
    return read_result(journal.events())


def test_json_has_every_figure_once_and_nothing_that_is_only_for_words(result: Result) -> None:
    found = flat(RunSummary.of(RUN, result))
    assert not {"best", "totals", "spent", "verdict", "spending", "branched"} & found.keys()
    assert found["speedup"] == result.best.speedup and found["confirmed"] is False
    assert found["evaluations"] == result.evaluations == 12
    assert found["cost_usd"] == pytest.approx(CENTS * found["replies"])
    assert found["tree_digest"] == result.tree_digest
    assert found["compared_by"] == "speedup"


def test_json_says_where_kernels_were_compared_by_their_own_times() -> None:
    result = optimizer(MemoryJournal(), PaidToy(), UnsteadyBaseline(), evaluations=12).run()
    assert flat(RunSummary.of(RUN, result))["compared_by"] == "own time"


def test_branch_counts_match_the_nodes(result: Result) -> None:
    run = RunSummary.of(RUN, result)
    assert run.branch_values == sum(len(node.branches) for node in result.nodes) > 0
    assert run.branched <= run.branch_values
