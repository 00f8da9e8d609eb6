"""Inputs that a problem does not draw: other magnitudes, and rows that are equal, tied or sparse.

A softmax without its maximum is right on [0, 1) and four times that, and wrong beyond 88. So a
candidate also meets values that the problem's own model computes well and `get_inputs` would hardly
return. Only tensors that look drawn freely are changed: uniform from zero, or about it, or normal.
What has a structure (a triangle, a symmetric matrix, rows that sum to one, labels, masks) may be
relied upon, and stays.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

_OFFSET, _SPIKE, _LEVELS, _KEPT = 8.0, 1e6, 4, 1 / 64
_FEW = 16
_LEAST_SAMPLE, _MOST_SAMPLE = 64, 2**20
_SURE = 5.0  # standard errors
_WITHIN_ONE = 0.6827  # of a normal distribution, within one deviation
_CORNER = 256


def vary(inputs: Sequence[Any], kinds: Sequence[str], seed: int) -> bool:
    """Change freely drawn tensors in place, rows by `kinds` in turn; whether there are any.

    The kinds are those of `shared.variations`. As many of the leading axes make up the rows as are
    needed for two of each kind; of a vector they are pieces.
    """
    import torch

    chance = random.Random(seed)
    found = False
    for tensor in inputs:
        if not (isinstance(tensor, torch.Tensor) and is_free(tensor)):
            continue
        found = True
        greatest = float(tensor.abs().amax())
        order = chance.sample(list(kinds), len(kinds))
        for kind, part in zip(order, _parts(tensor, len(kinds)), strict=False):
            _CHANGES[kind](part, greatest, chance)
    return found


def is_free(tensor: Any) -> bool:
    """Whether a tensor looks drawn element by element: uniform on [0, s) or [-s, s), or normal."""
    count = tensor.numel()
    if not (tensor.is_floating_point() and tensor.dim() and tensor.is_contiguous()):
        return False
    if count < _LEAST_SAMPLE or _is_symmetric(tensor):
        return False
    flat = tensor.reshape(-1)
    sample = flat[:: max(1, count // _MOST_SAMPLE)].double()
    slack = 0.01 + _SURE / sample.numel() ** 0.5
    low, high = (float(value) for value in sample.aminmax())
    mean, deviation = float(sample.mean()), float(sample.std())
    if high <= 0 or deviation == 0:
        return False
    width = high if low >= 0 else 2 * high
    middle = width / 2 if low >= 0 else 0.0
    edges = low < width / 4 if low >= 0 else abs(low + high) < 0.25 * width
    even = abs(deviation - width * 12**-0.5) < slack * deviation
    if edges and even and abs(mean - middle) < slack * width / 2:
        return True
    within = float(((sample - mean).abs() < deviation).double().mean())
    tails = max(high, -low) > 1.5 * deviation
    return tails and abs(mean) < slack * deviation and abs(within - _WITHIN_ONE) < slack


def may_be_relied_upon(tensor: Any) -> bool:
    """Whether a tensor looks like labels or a mask, a few whole numbers, or like distributions."""
    count = tensor.numel()
    if count < _LEAST_SAMPLE or not tensor.is_floating_point() or tensor.dim() == 0:
        return False
    sample = tensor.reshape(-1)[:: max(1, count // _MOST_SAMPLE)]
    if bool((sample == sample.round()).all()) and len(sample.unique()) <= _FEW:
        return True
    if bool((sample < 0).any()):
        return False
    axes = {-1, 1 if tensor.dim() > 1 else -1}
    return any(bool((tensor.sum(dim=axis) - 1).abs().amax() < 1e-3) for axis in axes)


def _is_symmetric(tensor: Any) -> bool:
    """By a corner of its first matrix."""
    if tensor.dim() < 2 or tensor.shape[-1] != tensor.shape[-2]:
        return False
    corner = tensor.reshape(-1, *tensor.shape[-2:])[0, :_CORNER, :_CORNER]
    return bool((corner == corner.T).all())


def _parts(tensor: Any, count: int) -> list[Any]:
    """Views of `tensor`, [rows, ..., last axis] each, `count` of them if it has so many rows."""
    if tensor.dim() == 1:
        return [part[None] for part in tensor.tensor_split(count) if part.numel()]
    rows, axes = 1, 0
    while axes < tensor.dim() - 1 and rows < 2 * count:
        rows *= int(tensor.shape[axes])
        axes += 1
    whole = tensor.view(rows, *tensor.shape[axes:])
    return [whole[first::count] for first in range(min(rows, count))]


def _offset(part: Any, greatest: float, _chance: random.Random) -> None:
    part[0::2] += _OFFSET * greatest
    part[1::2] -= _OFFSET * greatest


def _large(part: Any, _greatest: float, chance: random.Random) -> None:
    part.mul_(10 ** chance.uniform(2, 4))


def _small(part: Any, _greatest: float, chance: random.Random) -> None:
    part.mul_(10 ** chance.uniform(-3.5, -2))


def _tiny(part: Any, _greatest: float, chance: random.Random) -> None:
    part.mul_(10 ** chance.uniform(-8, -4))


def _denormal(part: Any, greatest: float, _chance: random.Random) -> None:
    import torch

    part.mul_(torch.finfo(part.dtype).tiny / 2 / greatest)


def _spike(part: Any, greatest: float, chance: random.Random) -> None:
    part[..., chance.randrange(part.shape[-1])] = chance.choice((-1, 1)) * _SPIKE * greatest


def _equal(part: Any, _greatest: float, _chance: random.Random) -> None:
    part.copy_(part[..., :1].clone().expand_as(part))


def _tied(part: Any, greatest: float, _chance: random.Random) -> None:
    part.mul_(_LEVELS / greatest).round_().mul_(greatest / _LEVELS)


def _sorted(part: Any, _greatest: float, chance: random.Random) -> None:
    import torch

    low, high = (float(value) for value in part.aminmax())
    ends = (low, high) if chance.random() < 0.5 else (high, low)
    part.copy_(torch.linspace(*ends, part.shape[-1], dtype=part.dtype, device=part.device))


def _sparse(part: Any, _greatest: float, chance: random.Random) -> None:
    import torch

    generator = torch.Generator(device=part.device)
    generator.manual_seed(chance.getrandbits(63))
    kept = torch.rand(part.shape, device=part.device, generator=generator) < _KEPT
    part.mul_(kept)


_CHANGES: dict[str, Callable[[Any, float, random.Random], None]] = {
    "offset": _offset, "large": _large, "small": _small, "tiny": _tiny, "denormal": _denormal,
    "spike": _spike, "equal": _equal, "tied": _tied, "sorted": _sorted, "sparse": _sparse,
}  # fmt: skip
