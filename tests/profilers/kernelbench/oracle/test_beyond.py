"""Inputs that a problem does not draw: which tensors are changed, and into what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from profilers.kernelbench.oracle.beyond import is_free, may_be_relied_upon, vary  # noqa: E402
from profilers.kernelbench.shared.variations import (  # noqa: E402
    KINDS,
    PATTERNS,
    VALUES,
    beyond,
    kinds_beyond,
)


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(3)


def symmetric() -> Any:
    made = torch.randn(64, 64)
    return made + made.T


FREE: dict[str, Callable[[], Any]] = {
    "uniform": lambda: torch.rand(64, 32),
    "uniform, wider": lambda: 7 * torch.rand(4096),
    "about zero": lambda: 2 * torch.rand(64, 64) - 1,
    "normal": lambda: 3 * torch.randn(8, 16, 32),
    "half": lambda: torch.randn(128, 64).half(),
}
STRUCTURED: dict[str, Callable[[], Any]] = {
    "triangular": lambda: torch.triu(torch.rand(64, 64)),
    "symmetric": symmetric,
    "a mask": lambda: (torch.rand(64, 64) < 0.5).float(),
    "labels": lambda: torch.randint(0, 2, (512,)).float() * 2 - 1,
    "distributions": lambda: torch.rand(64, 64).softmax(dim=1),
    "integers": lambda: torch.randint(0, 100, (64, 64)),
    "zeros": lambda: torch.zeros(64, 64),
    "one value": lambda: torch.full((64, 64), 0.5),
    "few": lambda: torch.rand(8),
    "a number": lambda: torch.tensor(0.5),
    "strided": lambda: torch.rand(64, 64).T,
}


@pytest.mark.parametrize("name", FREE)
def test_what_is_drawn_element_by_element_is_free(name: str) -> None:
    tensor = FREE[name]()
    assert is_free(tensor) and not may_be_relied_upon(tensor)


@pytest.mark.parametrize("name", STRUCTURED)
def test_what_a_candidate_may_rely_upon_stays_as_it_is(name: str) -> None:
    tensor = STRUCTURED[name]()
    before = tensor.clone()
    assert not is_free(tensor)
    assert not vary([tensor], KINDS, seed=1)
    assert torch.equal(tensor, before)


@pytest.mark.parametrize("name", ["a mask", "labels", "distributions", "zeros"])
def test_labels_masks_and_distributions_are_known(name: str) -> None:
    assert may_be_relied_upon(STRUCTURED[name]())


def test_free_tensors_are_changed_beside_others() -> None:
    free, mask = torch.rand(64, 64), STRUCTURED["a mask"]()
    kept = mask.clone()
    assert vary([mask, free, 3.0], ("large",), seed=1)
    assert torch.equal(mask, kept) and float(free.amax()) > 50


def changed(kind: str) -> tuple[Any, Any]:
    tensor = torch.rand(64, 256)
    before = tensor.clone()
    assert vary([tensor], (kind,), seed=5)
    return before, tensor


def test_magnitudes() -> None:
    before, after = changed("large")
    ratio = float((after / before)[before > 0].mean())
    assert 100 <= ratio <= 10_000
    before, after = changed("tiny")
    assert 1e-8 <= float((after / before)[before > 0].mean()) <= 1.001e-4
    before, after = changed("small")
    assert 3e-4 <= float((after / before)[before > 0].mean()) <= 1.001e-2
    _, after = changed("denormal")
    assert 0 < float(after.amax()) < torch.finfo(torch.float32).tiny
    before, after = changed("offset")
    moved = (after - before).mean(dim=1)
    assert torch.allclose(moved.abs(), torch.full_like(moved, 8 * float(before.amax())), rtol=1e-3)
    assert float(moved.amin()) < 0 < float(moved.amax())
    _, after = changed("spike")
    assert ((after.abs() > 1e5).sum(dim=1) == 1).all()


def test_patterns() -> None:
    before, after = changed("equal")
    assert torch.equal(after, before[:, :1].expand_as(after))
    before, after = changed("tied")
    assert len(after.unique()) == 5 and float((after - before).abs().amax()) < 0.13
    _, after = changed("sorted")
    steps = after.diff(dim=1)
    assert (steps > 0).all() or (steps < 0).all()
    before, after = changed("sparse")
    kept = after != 0
    assert 0.005 < float(kept.float().mean()) < 0.03 and torch.equal(after[kept], before[kept])


@pytest.mark.parametrize("kinds", [VALUES, PATTERNS])
def test_rows_are_changed_by_all_kinds_in_turn(kinds: tuple[str, ...]) -> None:
    tensor = torch.rand(4, 16, 256)
    before = tensor.clone()
    assert vary([tensor], kinds, seed=7)
    rows, count = tensor.view(64, 256), len(kinds)
    assert (rows != before.view(64, 256)).any(dim=1).all()
    scales = [rows[first::count].abs().amax(dim=1).log10().round() for first in range(count)]
    assert all(len(found.unique()) <= 2 for found in scales)


def test_a_vector_is_changed_in_pieces() -> None:
    vector = torch.rand(4000)
    before = vector.clone()
    assert vary([vector], VALUES, seed=2)
    ratios = (vector / before).nan_to_num(1.0)
    assert all((piece != 1).any() for piece in ratios.tensor_split(len(VALUES)))


def test_the_same_seed_changes_alike() -> None:
    one, other = torch.rand(64, 64), torch.empty(64, 64)
    other.copy_(one)
    assert vary([one], KINDS, seed=9) and vary([other], KINDS, seed=9)
    assert torch.equal(one, other)


def test_names() -> None:
    assert kinds_beyond(beyond(VALUES)) == VALUES
    assert kinds_beyond("beyond:large,unheard of") == ("large",)
    assert kinds_beyond("scaled") == ()
