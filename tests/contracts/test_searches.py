"""Every search that Rooftree registers keeps the contract, and stands wherever they are listed."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiments.cli import app
from experiments.runs.options import names
from mcts.search import SearchSettings
from tests.contracts.search_contract import SearchContract

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REGISTERED: dict[str, str] = PROJECT["entry-points"][names.SEARCHES]
"""Read from the checkout, so that a search is held to the contract before it is installed."""
LISTS = ("docs/concepts/search.md", "docs/tutorial/search.md")


def factory(name: str) -> type:
    found: type = EntryPoint(name, REGISTERED[name], names.SEARCHES).load()
    return found


class TestOurSearches(SearchContract):
    @pytest.fixture(params=sorted(REGISTERED))
    def plan(self, request: pytest.FixtureRequest) -> SearchSettings:
        settings: SearchSettings = factory(request.param)()
        return settings


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_what_is_registered_runs_without_being_installed(name: str) -> None:
    assert names.OURS[names.SEARCHES].get(name) == REGISTERED[name], (
        f"{name} stands in pyproject.toml; add it to OURS of experiments/runs/options/names.py"
    )


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_help_names_it(name: str) -> None:
    shown = CliRunner().invoke(app, ["optimize", "--help"], env={"COLUMNS": "400"}).output
    option = next(line for line in shown.splitlines() if "--search" in line)
    assert re.search(rf"\b{name}\b", option)


@pytest.mark.parametrize("name", sorted(set(REGISTERED) - {"puct"}))
@pytest.mark.parametrize("page", LISTS)
def test_pages_that_list_searches_name_it(page: str, name: str) -> None:
    assert re.search(rf"`(--search )?{name}`", (ROOT / page).read_text()), (
        f"{page} does not name the search {name}"
    )


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_the_reference_has_it(name: str) -> None:
    page = (ROOT / "docs" / "reference" / "searches.md").read_text()
    module = factory(name).__module__
    assert f"::: {module}\n" in page, f"docs/reference/searches.md lacks ::: {module}"
