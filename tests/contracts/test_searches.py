"""Every search of ours keeps the contract, and is named where searches are listed."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from docs.tools.searches import markdown
from experiments.cli import app
from experiments.runs.options import names
from mcts.search.catalogue import searches
from mcts.search.port import SearchSettings
from mcts.testing.searches import SearchContract

OURS = searches()


class TestOurSearches(SearchContract):
    @pytest.fixture(params=OURS)
    def plan(self, request: pytest.FixtureRequest) -> SearchSettings:
        return OURS[request.param]()


@pytest.mark.parametrize("name", OURS)
def test_it_is_found_by_its_name(name: str) -> None:
    assert names.load(names.SEARCHES, name) is OURS[name]


def test_the_searches_that_there_were_are_there() -> None:
    assert {"annealing", "beam", "best_of_n", "evolution", "greedy", "puct"} <= set(OURS)


@pytest.mark.parametrize("name", OURS)
def test_help_names_it(name: str) -> None:
    shown = CliRunner().invoke(app, ["optimize", "--help"], env={"COLUMNS": "400"}).output
    option = next(line for line in shown.splitlines() if "--search" in line)
    assert re.search(rf"\b{name}\b", option)


@pytest.mark.parametrize("name", OURS)
def test_the_reference_has_it(name: str) -> None:
    assert f"### `{name}`\n\n::: {OURS[name].__module__}\n" in markdown()
