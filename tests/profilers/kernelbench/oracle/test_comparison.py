"""Wrong elements are found and placed; inexact results differ from imprecise ones."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from profilers.kernelbench.oracle.beyond import vary  # noqa: E402
from profilers.kernelbench.oracle.comparison import (  # noqa: E402
    Errors,
    ExpectedLeaf,
    compare_leaf,
    half_ulp_at,
    scale_of,
    where_wrong,
)
from profilers.kernelbench.oracle.structure import broadcasts, structure_difference  # noqa: E402
from profilers.kernelbench.shared.variations import PATTERNS  # noqa: E402

K = 64


def leaf(values: Any, honest: Any) -> ExpectedLeaf:
    return ExpectedLeaf(
        path="output",
        values=values,
        dtype=honest.dtype,
        honest=Errors.of(honest, values),
        scale=scale_of(values),
    )


def compare(got: Any, expected: ExpectedLeaf, tolerance: float = 1e-4) -> dict[str, Any]:
    return compare_leaf(got, expected, relative=tolerance, absolute=tolerance)


def rounded(tensor: Any, bits: int) -> Any:
    """`tensor` with its float32 mantissa rounded to `bits`: 10 is TF32, 7 is bfloat16."""
    drop = 23 - bits
    whole = tensor.view(torch.int32) + (1 << (drop - 1))
    return (whole >> drop << drop).view(torch.float32)


def matrices(terms: int) -> tuple[Any, Any, ExpectedLeaf]:
    """Zero-mean factors and the product that is expected of them."""
    generator = torch.Generator().manual_seed(3)
    a = torch.randn(96, terms, generator=generator)
    b = torch.randn(terms, 80, generator=generator)
    return a, b, leaf(a.double() @ b.double(), a @ b)


def summed_in_parts(a: Any, b: Any, part: int) -> Any:
    """The product in float32, added up part by part, one after another."""
    total = torch.zeros(a.shape[0], b.shape[1])
    for begin in range(0, a.shape[1], part):
        total += a[:, begin : begin + part] @ b[begin : begin + part]
    return total


def one_by_one(a: Any, b: Any) -> Any:
    """The product in float32, added up term by term: no order is worse."""
    total = torch.zeros(a.shape[0], b.shape[1])
    for term in range(a.shape[1]):
        total.addcmul_(a[:, term : term + 1], b[term : term + 1])
    return total


def fused_one_by_one(a: Any, b: Any) -> Any:
    """The same with a single rounding for each term, as a GPU does it."""
    total = torch.zeros(a.shape[0], b.shape[1])
    for term in range(a.shape[1]):
        total = (total.double() + a[:, term : term + 1].double() * b[term : term + 1]).float()
    return total


@pytest.mark.parametrize("terms", [64, 1024, 4096])
def test_float32_in_any_order_is_precise_enough(terms: int) -> None:
    a, b, expected = matrices(terms)
    for other in (summed_in_parts(a, b, 32), one_by_one(a, b), (b.T @ a.T).T.contiguous()):
        found = compare(other, expected)
        assert found["mismatches"] == 0
        assert found["error_ratio"] < 16


@pytest.mark.parametrize("terms", [64, 1024, 4096])
@pytest.mark.parametrize(("bits", "least"), [(10, 150), (7, 1200)])
def test_a_lower_precision_inside_is_seen(terms: int, bits: int, least: float) -> None:
    a, b, expected = matrices(terms)
    found = compare(rounded(a, bits) @ rounded(b, bits), expected, tolerance=0.05)
    assert found["error_ratio"] > least


@pytest.mark.parametrize("parts", [1, 16])
def test_where_terms_round_alike_a_sum_may_be_added_up_term_by_term(parts: int) -> None:
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(16, 4096, generator=generator)
    b = torch.randn(4096, 512, generator=generator)
    vary([a, b], PATTERNS, 0)
    pairs = zip(a.chunk(parts, 1), b.chunk(parts, 0), strict=True)
    honest = torch.stack([fused_one_by_one(x, y) for x, y in pairs]).sum(0)
    expected = leaf(a.double() @ b.double(), honest)
    others = {"serial": fused_one_by_one(a, b), "tf32": rounded(a, 10) @ rounded(b, 10)}
    wrong = {
        (name, alike): compare(other, replace(expected, alike=alike))["mismatches"] > 0
        for name, other in others.items()
        for alike in (False, True)
    }
    assert wrong == {
        ("serial", False): parts > 1, ("serial", True): False,
        ("tf32", False): True, ("tf32", True): True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("dtype", "error", "allowed"),
    [
        (torch.float32, 1e-6, 64e-6),
        (torch.float64, 1e-6, 64e-6),
        (torch.float32, 2e-5, 2.0**-11),
        (torch.float32, 1e-3, 8e-3),  # as of convolutions in TF32
        (torch.bfloat16, 1e-6, 8e-6),
    ],
)
def test_of_what_other_orders_of_summation_do_not_explain_no_more_is_allowed(
    dtype: Any, error: float, allowed: float
) -> None:
    values = torch.ones(4096, dtype=torch.float64)
    honest = Errors(rms=error, max=error, regions=())
    expected = ExpectedLeaf(
        path="output", values=values, dtype=dtype, honest=honest, scale=1.0, alike=True
    )
    for factor, wrong in ((0.99, 0), (1.01, 4096)):
        got = values + factor * allowed  # in float64, so that no rounding adds to it
        assert compare(got, expected, tolerance=0.0)["mismatches"] == wrong


def test_bfloat16_products_within_the_tolerance_are_told_apart() -> None:
    a, b, expected = matrices(256)
    found = compare((a.bfloat16() @ b.bfloat16()).float(), expected, tolerance=1.0)
    assert found["mismatches"] == 0
    assert found["error_ratio"] > K


def test_a_lower_precision_in_the_last_rows_alone_is_seen() -> None:
    a, b, expected = matrices(512)
    got = a @ b
    got[-3:] = (a[-3:].bfloat16() @ b.bfloat16()).float()
    found = compare(got, expected, tolerance=1.0)
    assert found["error_ratio"] > K


def test_a_single_number_may_be_added_up_in_any_order() -> None:
    generator = torch.Generator().manual_seed(1)
    values = torch.rand(1 << 20, generator=generator)
    expected = leaf(values.double().mean(), values.mean())
    partial = values.view(-1, 256).sum(1)
    total = torch.zeros(())
    for one in partial:
        total += one
    assert compare(total / values.numel(), expected)["error_ratio"] < K


def test_a_half_precision_output_is_judged_at_its_own_rounding() -> None:
    x = torch.rand(4096, generator=torch.Generator().manual_seed(1))
    expected = leaf(x.double().exp(), x.exp().half())
    assert compare(x.exp().half(), expected, tolerance=1e-2)["error_ratio"] < 2


def test_wrong_elements_are_counted_and_placed() -> None:
    values = torch.randn(128, 300, dtype=torch.float64)
    expected = leaf(values, values.float())
    got = values.float()
    got[127, 290:] += 1
    found = compare(got, expected)
    assert found["mismatches"] == 10
    assert found["first"] == "[127, 290]"
    assert found["got"] == pytest.approx(found["expected"] + 1)
    assert found["share"] == pytest.approx(10 / (128 * 300))
    assert found["region"] == "only in the last 1.56 %"
    assert found["worst_ratio"] > 1


def test_nan_passes_only_where_it_is_expected() -> None:
    values = torch.tensor([1.0, float("nan"), float("inf"), -2.0], dtype=torch.float64)
    expected = leaf(values, values.float())
    assert compare(values.float(), expected)["mismatches"] == 0
    for index, wrong in ((0, float("nan")), (1, 0.0), (2, float("-inf")), (3, float("inf"))):
        got = values.float()
        got[index] = wrong
        found = compare(got, expected)
        assert found["mismatches"] == 1
        assert found["first"] == f"[{index}]"
        assert found["max_error"] is None and found["worst_ratio"] is None
    got = torch.full((4,), float("nan"))
    assert compare(got, expected)["nans"] == 3


def test_integers_and_booleans_are_exact() -> None:
    values = torch.randint(0, 100, (1000,))
    expected = leaf(values, values)
    assert compare(values, expected)["mismatches"] == 0
    got = values.clone()
    got[500] += 1
    assert compare(got, expected, tolerance=10)["mismatches"] == 1
    flags = torch.rand(1000) < 0.5
    assert compare(~flags, leaf(flags, flags))["mismatches"] == 1000


def test_honest_errors_beyond_the_tolerance_are_allowed_to_others_too() -> None:
    values = torch.randn(1000, dtype=torch.float64)
    expected = leaf(values, values.float() + 1e-2)
    assert compare(values.float() - 1e-2, expected, tolerance=1e-6)["mismatches"] == 0
    assert compare(values.float() - 1e-1, expected, tolerance=1e-6)["mismatches"] == 1000


def test_complex_outputs_and_empty_ones_are_compared() -> None:
    values = torch.randn(10, 10, dtype=torch.complex128)
    expected = leaf(values, values.to(torch.complex64))
    got = values.to(torch.complex64)
    assert compare(got, expected)["mismatches"] == 0
    got[3, 4] += 1j
    assert compare(got, expected)["first"] == "[3, 4]"
    nothing = torch.empty(0, 3, dtype=torch.float64)
    assert compare(nothing.float(), leaf(nothing, nothing.float()))["mismatches"] == 0


def test_strided_outputs_are_read_in_their_logical_order() -> None:
    values = torch.randn(40, 50, dtype=torch.float64)
    got = values.float().T.contiguous().T
    assert not got.is_contiguous()
    assert compare(got, leaf(values, values.float()))["mismatches"] == 0


def test_half_an_ulp_follows_the_scale() -> None:
    assert half_ulp_at(1.0, torch.float32) == 2.0**-24
    assert half_ulp_at(1000.0, torch.float32) == 2.0**-24 * 512
    assert half_ulp_at(1.0, torch.bfloat16) == 2.0**-8
    assert half_ulp_at(5.0, torch.int64) == 0


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ([0] * 63 + [1], "only in the last 1.56 %"),
        ([1, 1] + [0] * 62, "only in the first 3.12 %"),
        ([0] * 16 + [1] * 16 + [0] * 32, "only between 25 % and 50 %"),
        ([1] * 64, None),
        ([1] + [0] * 62 + [1], "in 2 of 64 regions"),
    ],
)
def test_the_wrong_region_is_named(counts: list[int], text: str | None) -> None:
    assert where_wrong(counts, 64 * 1000) == text


def tensor(*shape: int, dtype: str = "float32") -> dict[str, Any]:
    return {"tensor": {"shape": list(shape), "dtype": dtype}}


@pytest.mark.parametrize(
    ("expected", "got", "said"),
    [
        (tensor(2, 3), tensor(2, 3), None),
        (tensor(2, 3), tensor(3, 2), r"output is float32\[3, 2\], expected float32\[2, 3\]"),
        (tensor(2), tensor(2, dtype="float16"), "float16"),
        ({"list": [tensor(2)]}, {"tuple": [tensor(2)]}, "a tuple of 1"),
        ({"tuple": [tensor(2), 3]}, {"tuple": [tensor(2), 4]}, r"output\[1\] is 4, expected 3"),
        ({"tuple": [1.0]}, {"tuple": [1.00001]}, None),
        ({"tuple": [1]}, {"tuple": []}, "holds 0 values"),
        ({"dict": [["a", tensor(1)]]}, {"dict": [["b", tensor(1)]]}, "has the keys"),
        ({"dict": [["a", tensor(1)]]}, {"dict": [["a", tensor(2)]]}, r"output\['a'\]"),
        (tensor(2), None, "output is None"),
        (True, 1, "number"),
    ],
)
def test_structures_are_compared_exactly(expected: Any, got: Any, said: str | None) -> None:
    found = structure_difference(expected, got)
    if said is None:
        assert found is None
    else:
        assert found is not None
        assert re.search(said, found)


def test_a_smaller_output_that_would_broadcast_is_told() -> None:
    assert broadcasts(tensor(4, 5), tensor())
    assert broadcasts(tensor(4, 5), 1.0)
    assert broadcasts({"tuple": [tensor(4, 5)]}, {"tuple": [tensor(1, 5)]})
    assert not broadcasts(tensor(4, 5), tensor(5, 4))
    assert not broadcasts(tensor(4, 5), tensor(4, 5))
