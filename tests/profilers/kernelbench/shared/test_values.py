"""Nested values as JSON: nothing is lost, and nothing broken gets through."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profilers.kernelbench.shared.values import (
    MAX_DEPTH,
    MAX_NODES,
    TensorSpec,
    contiguous_strides,
    decode,
    encode,
    kept_strides,
    leaves,
    span,
)


@dataclass(frozen=True)
class StandIn:
    """What `encode` takes for a tensor, without torch."""

    spec: TensorSpec

    def data_ptr(self) -> int:
        return 0

    def stride(self) -> tuple[int, ...]:
        return self.spec.strides


def place(tensor: Any) -> TensorSpec:
    assert isinstance(tensor, StandIn)
    return tensor.spec


def tensor(offset: int = 0, shape: tuple[int, ...] = (2, 3)) -> StandIn:
    return StandIn(TensorSpec("float32", shape, contiguous_strides(shape), offset))


tensors = st.builds(
    tensor,
    st.integers(0, 2**30).map(lambda n: n * 256),
    st.lists(st.integers(0, 64), max_size=4).map(tuple),
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**100), 2**100)
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
)
values = st.recursive(
    scalars | tensors,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(scalars, inner, max_size=4)
    ),
    max_leaves=20,
)


@given(values)
def test_a_value_comes_back_as_it_was_through_json(value: Any) -> None:
    coded = json.loads(json.dumps(encode(value, place)))
    again = decode(coded, StandIn)
    assert again == value
    assert repr(again) == repr(value)


def test_special_floats_are_valid_json() -> None:
    coded = encode([math.inf, -math.inf, math.nan, -0.0], place)
    again = decode(json.loads(json.dumps(coded, allow_nan=False)), StandIn)
    assert again[:2] == [math.inf, -math.inf]
    assert math.isnan(again[2])
    assert math.copysign(1, again[3]) == -1


def test_leaves_are_listed_in_order_with_their_paths() -> None:
    first, second, third = tensor(0), tensor(256), tensor(512)
    coded = encode((first, {"mask": [second, 1], 3: third}), place)
    assert leaves(coded) == [
        ("[0]", first.spec), ("[1]['mask'][0]", second.spec), ("[1][3]", third.spec),
    ]  # fmt: skip


def test_a_container_is_read_by_no_method_of_its_class() -> None:
    class Lazy(list):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            raise AssertionError("ran")

    assert encode(Lazy([1, 2]), place) == {"list": [1, 2]}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({1, 2}, "the value"),
        (b"x", "the value"),
        (object(), "the value"),
        ([{"a": print}], "the value"),
        ([{"a": 1j}], r"the value at \[0\]\['a'\] is a builtins\.complex"),
    ],
)
def test_anything_else_is_refused_with_its_path(value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        encode(value, place)


def test_depth_and_number_are_capped_both_ways() -> None:
    deep: Any = 1
    coded: Any = 1
    for _ in range(MAX_DEPTH + 1):
        deep, coded = [deep], {"list": [coded]}
    many = [0] * (MAX_NODES + 1)
    for refused in (deep, many):
        with pytest.raises(ValueError, match=r"nested deeper|more than"):
            encode(refused, place)
    for refused in (coded, {"list": many}):
        for read in (lambda data: decode(data, StandIn), leaves):
            with pytest.raises(ValueError, match=r"nested deeper|more than"):
                read(refused)


@pytest.mark.parametrize(
    "data",
    [
        [1],
        {"list": [], "tuple": []},
        {"list": {"a": 1}},
        {"dict": [["a"]]},
        {"dict": [[{"list": []}, 1]]},
        {"float": "1e5"},
        {"pickle": "gASVAAAA"},
        {"tensor": {"dtype": "float32"}},
        {"tensor": "float32"},
    ],
)
def test_broken_json_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match=r"value|tensor"):
        decode(data, StandIn)


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "object"},
        {"dtype": ["float32"]},
        {"shape": [-1, 3]},
        {"shape": [2.0, 3]},
        {"shape": [2, 3, 1]},
        {"strides": [3, -1]},
        {"offset": 2},
        {"offset": -256},
        {"offset": None},
        {"shape": [2**40, 3], "strides": [2**40, 1]},
        {"bytes": 7},
    ],
)
def test_a_broken_place_is_refused(change: dict[str, Any]) -> None:
    good = tensor().spec.to_json()
    with pytest.raises(ValueError, match=r"tensor|strides|misaligned"):
        TensorSpec.from_json({**good, **change})


@given(st.lists(st.integers(1, 6), max_size=4), st.randoms())
def test_dense_strides_are_kept_in_any_order_of_axes(extents: list[int], random: Any) -> None:
    axes = list(range(len(extents)))
    random.shuffle(axes)
    dense = contiguous_strides([extents[axis] for axis in axes])
    strides = [dense[axes.index(axis)] for axis in range(len(extents))]
    assert kept_strides(extents, strides) == tuple(strides)
    assert span(extents, strides) == math.prod(extents)


@pytest.mark.parametrize(
    ("shape", "strides", "kept"),
    [
        ((4, 4), (0, 1), False),  # expanded
        ((4, 4), (1, 1), False),  # overlapping
        ((4, 4), (8, 2), True),  # every second column
        ((4, 4), (800, 2), False),  # mostly gaps
        ((4, 1), (1, 0), True),
    ],
)
def test_strides_are_kept_where_elements_have_places_of_their_own(
    shape: tuple[int, ...], strides: tuple[int, ...], kept: bool
) -> None:
    expected = strides if kept else contiguous_strides(shape)
    assert kept_strides(shape, strides) == expected
