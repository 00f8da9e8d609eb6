"""What the oracle remembers of draws: right answers that a cheat would give again."""

from __future__ import annotations

from typing import Any

import pytest

from profilers.kernelbench.oracle import draws as module
from profilers.kernelbench.oracle.comparison import Errors, ExpectedLeaf
from profilers.kernelbench.oracle.draws import Draw, DrawStore
from profilers.kernelbench.oracle.reference import Expectation


class Tensor:
    """A tensor of `size` bytes."""

    def __init__(self, size: int) -> None:
        self._size = size

    def numel(self) -> int:
        return self._size

    def element_size(self) -> int:
        return 1

    def data_ptr(self) -> int:
        return 0

    def stride(self) -> tuple[int, ...]:
        return ()


def expected(size: int = 8) -> Expectation:
    honest = Errors(rms=0.0, max=0.0, regions=())
    values: Any = Tensor(size)
    leaf = ExpectedLeaf(path="output", values=values, dtype=None, honest=honest, scale=1.0)
    return Expectation(leaves=(leaf,), output=None, oracle="float64")


def draw(*, size: int = 8, known: bool = True, shown: bool = True) -> Draw:
    found = expected() if known else None
    return Draw([Tensor(size)], "given", expectation=found, shown=shown)


@pytest.fixture
def draws() -> DrawStore:
    draws = DrawStore()
    draws["a"], draws["b"] = draw(), draw(size=100, known=False)
    return draws


def test_bytes_count_inputs_and_expected_outputs(draws: DrawStore) -> None:
    assert draws.bytes == 8 + 8 + 100


def test_expectations_under_other_weights_are_stale(draws: DrawStore) -> None:
    before = draws["a"].expectation
    draws.outdate()
    assert (draws["a"].expectation, draws["a"].stale) == (None, before)
    draws.outdate()
    assert draws["a"].stale is before, "a draw that nothing was expected of keeps what is stale"


def test_the_last_forgotten_draw_is_still_among_the_others(draws: DrawStore) -> None:
    first, second = draws["a"], draws["b"]
    assert draws.others(second) == [first]
    draws.forget(["a", "never drawn"])
    assert draws.others(second) == [first]
    assert draws.bytes == 100
    draws.forget(["b"])
    assert draws.others(second) == [first], "nothing was ever expected of the second"
    draws.outdate()
    assert first.expectation is None and first.stale is not None


def test_what_no_candidate_has_seen_is_no_evidence(draws: DrawStore) -> None:
    """Draws ahead of a verification: zeros are right for inputs that are nearly zero."""
    draws["ahead"] = draw(shown=False)
    assert draws.others(draws["b"]) == [draws["a"]]
    draws.forget(["a"])
    draws.forget(["ahead"])
    assert draws.others(draws["b"]) == [], "it takes the place of the last forgotten one"


def test_large_draws_are_not_remembered(draws: DrawStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SMALL", 7)
    draws.outdate()
    assert draws["a"].stale is None
    draws["a"].expectation = expected()
    draws.forget(["a"])
    assert draws.others(draws["b"]) == []
