"""What cut operands err by tells TF32 from bfloat16 in one product and in several in a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from profilers.launching.precision import CUT_FACTOR

Array = Any
Rounding = Callable[[Array], Array]


def words(a: Array) -> Array:
    return a.astype(np.float32).view(np.uint32)


def numbers(bits: Array) -> Array:
    return bits.view(np.float32).astype(np.float64)


def kept(a: Array) -> Array:
    return a


def cut(a: Array) -> Array:
    return numbers(words(a) & np.uint32(0xFFFFE000))


def rounded(a: Array) -> Array:
    return numbers((words(a) + np.uint32(0x1000)) & np.uint32(0xFFFFE000))


def bf16(a: Array) -> Array:
    bits = words(a)
    return numbers((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000))


def softmax(scores: Array) -> Array:
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def chain(q: Rounding, *x: Array) -> Array:
    found = x[0]
    for factor in x[1:]:
        found = q(found) @ q(factor)
    return found


def mlp(q: Rounding, x: Array, first: Array, second: Array) -> Array:
    return q(np.maximum(q(x) @ q(first), 0)) @ q(second)


def attention(q: Rounding, queries: Array, keys: Array, values: Array) -> Array:
    return q(softmax(q(queries) @ q(keys).T / np.sqrt(len(keys)))) @ q(values)


def gram(q: Rounding, x: Array) -> Array:
    return q(x) @ q(x).T


@pytest.mark.parametrize(
    ("form", "inputs"), [(chain, 2), (chain, 3), (chain, 4), (chain, 6), (mlp, 3), (attention, 3),
                         (gram, 1)],
)  # fmt: skip
def test_cut_operands_pass_and_bfloat16_does_not(form: Callable[..., Array], inputs: int) -> None:
    generator = np.random.default_rng(inputs)
    x = [numbers(words(generator.standard_normal((128, 128)))) for _ in range(inputs)]
    truth = form(kept, *x)

    def error(found: Array) -> float:
        return float(np.sqrt(np.square(found - truth).mean()))

    bar = CUT_FACTOR * error(form(kept, *map(cut, x)))
    assert error(form(rounded, *x)) < error(form(cut, *x)) < 0.9 * bar
    assert error(form(bf16, *x)) > 1.1 * bar
