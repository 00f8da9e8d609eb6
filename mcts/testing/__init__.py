"""Tests for whoever writes a part: contract suites to subclass, and a toy world to run parts in.

Needs pytest. Each suite says what every implementation of a port must do; `toy` is a small task
whose times follow a formula, with a proposer, an evaluator and a journal in memory.
"""

import pytest

_SUITES = ("evaluators", "journals", "libraries", "proposers", "searches")
pytest.register_assert_rewrite(*(f"{__name__}.{suite}" for suite in _SUITES))
