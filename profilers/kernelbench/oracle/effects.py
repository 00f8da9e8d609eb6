"""Whether a change had an effect: whether two outputs differ by more than an honest error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from profilers.kernelbench.oracle.comparison import Errors, ExpectedLeaf
from profilers.kernelbench.shared.trees import tensors

EFFECT = 4.0
"""How many times the honest error a change must move the output by, to count as one."""

_PLAIN = 0.05


@dataclass(frozen=True, slots=True)
class Noise:
    """How much a leaf may differ, at most and in root mean square, without an effect.

    Bounded by a share of the leaf's scale, because the honest error of a model that is random
    inside says nothing.
    """

    most: float
    rms: float
    wrong: int

    @classmethod
    def of(cls, leaf: ExpectedLeaf) -> Noise:
        honest, floor = leaf.honest, leaf.floor
        return cls(
            most=min(EFFECT * (honest.max + floor), leaf.scale),
            rms=min(EFFECT * (honest.rms + floor), _PLAIN * leaf.scale),
            wrong=int(EFFECT * honest.wrong),
        )


NOTHING = Noise(most=0.0, rms=0.0, wrong=0)


def differs(first: Any, second: Any, noise: Noise = NOTHING) -> bool:
    if first.shape != second.shape or first.dtype != second.dtype:
        return True
    if first.numel() == 0:
        return False
    errors = Errors.of(first, second)
    if not first.is_floating_point() and not first.is_complex():
        return errors.wrong > noise.wrong
    return errors.max > noise.most or errors.rms > noise.rms or not _same_kinds(first, second)


def _same_kinds(first: Any, second: Any) -> bool:
    """Whether NaN and infinities stand in the same places."""
    pairs = zip(first.reshape(-1).split(2**26), second.reshape(-1).split(2**26), strict=True)
    for a, b in pairs:
        kinds = (a.isnan() == b.isnan()) & (a.isinf() == b.isinf())
        if not bool((kinds & (~a.isinf() | (a == b))).all()):
            return False
    return True


def same_values(first: Any, second: Any) -> bool:
    return not any(differs(a, b) for (_, a), (_, b) in paired(first, second))


def paired(first: Any, second: Any) -> list[tuple[tuple[str, Any], tuple[str, Any]]]:
    return list(zip(tensors(first), tensors(second), strict=True))
