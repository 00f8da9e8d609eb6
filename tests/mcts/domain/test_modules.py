"""Which modules a call's time falls into."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import ModelModule, ModuleTimes


def module(path: str, us: float) -> ModelModule:
    return ModelModule(path=path, kind="Module", us=us)


def parts(*modules: ModelModule, us: float = 100.0, most: int = 16) -> list[str]:
    return [one.path for one in ModuleTimes(us=us, modules=modules).parts(most=most)]


def test_a_large_module_is_told_by_what_is_in_it() -> None:
    inside = [module("body.0", 40), module("body.1", 20), module("body.1.norm", 5)]
    assert parts(module("stem", 10), module("body", 62), *inside) == ["stem", "body.0", "body.1"]


def test_a_module_whose_time_is_not_that_of_its_own_modules_stands_for_itself() -> None:
    assert parts(module("attention", 80), module("attention.norm", 10)) == ["attention"]


def test_modules_of_a_list_that_is_not_called_itself_are_parts() -> None:
    assert parts(module("layers.0", 50), module("layers.1", 40), module("layers.1.norm", 5)) == [
        "layers.0", "layers.1",
    ]  # fmt: skip


def test_the_longest_are_kept_in_the_models_order() -> None:
    modules = [module(name, us) for name, us in (("a", 5), ("b", 30), ("c", 1), ("d", 20))]
    assert parts(*modules, most=2) == ["b", "d"]


@pytest.mark.parametrize("us", [0.0, float("inf")])
def test_a_call_takes_time(us: float) -> None:
    with pytest.raises(ValueError, match="us"):
        ModuleTimes(us=us, modules=(module("a", 1),))


names = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(".".join)


@given(st.dictionaries(names, st.floats(0, 1e6), min_size=1, max_size=20), st.integers(1, 8))
def test_no_part_holds_another(us: dict[str, float], most: int) -> None:
    modules = tuple(module(path, taken) for path, taken in us.items())
    found = ModuleTimes(us=1e6, modules=modules).parts(most=most)
    assert 1 <= len(found) <= most
    for one in found:
        assert not any(other.path.startswith(f"{one.path}.") for other in found)
