"""Every search that Rooftree registers keeps the contract of searches."""

from __future__ import annotations

import pytest

from experiments.wiring import names
from mcts.searches import AnySettings
from tests.contracts.search_contract import SearchContract


class TestOurSearches(SearchContract):
    @pytest.fixture(params=sorted(names.OURS[names.SEARCHES]))
    def plan(self, request: pytest.FixtureRequest) -> AnySettings:
        settings: AnySettings = names.load(names.SEARCHES, request.param)()
        return settings
