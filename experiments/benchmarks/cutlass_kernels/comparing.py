"""Is a product right, and where is it not?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

_ROUNDING = 2.0**-8
"""A bf16 result lies within half of this, relative, of the sum it was rounded from."""
_SUMMING = 2.0**-12
"""Times the root of K: room for fp32 sums of products of unit variance, whatever their order. One
product that is missing is off by about 1, a missing step of 64 by about 8."""


Direction = Literal["forward", "dgrad", "wgrad"]
"""Y = X W^T, dX = dY W and dW = dY^T X for each expert."""


def expert_products(torch: Any, direction: Direction, a: Any, b: Any, counts: Sequence[int]) -> Any:
    """The products of all experts in fp64, below each other as one matrix.

    a, b: what the direction multiplies, in the order in which it is written; `counts` are the rows
    of each expert.
    """
    parts = a.split(list(counts))
    others = b.split(list(counts)) if direction == "wgrad" else b
    return torch.cat(
        [
            (one.t() if direction == "wgrad" else one).double()
            @ (two.t() if direction == "forward" else two).double()
            for one, two in zip(parts, others, strict=True)
        ]
    )


def allowed(torch: Any, reference: Any, depth: int) -> Any:
    """The largest admissible deviation per element; `depth` is K, inputs have unit variance."""
    return reference.abs() * _ROUNDING + _SUMMING * depth**0.5


def disagreement(torch: Any, found: Any, reference: Any, depth: int) -> str:
    """What is wrong with `found`, in one line; "" if every element is close enough.

    reference: the product in fp64. It says how many elements are off, whether they were written
    at all, in which tiles of 64 they lie, and the first of them: whole tiles point at the order of
    tiles or at strides, a last row or column at the edge, everything at the operands' layout.
    """
    wrong = ~((found.double() - reference).abs() <= allowed(torch, reference, depth))
    count = int(wrong.sum())
    if count == 0:
        return ""
    rows, columns = wrong.any(1).nonzero().flatten(), wrong.any(0).nonzero().flatten()
    first = int(wrong.flatten().nonzero()[0]) if wrong.numel() < 2**31 else 0
    row, column = divmod(first, wrong.shape[1])
    unwritten = int(found.isnan().sum())
    return (
        f"{count} of {wrong.numel()} elements are off ({unwritten} NaN or never written), in rows "
        f"{int(rows[0])}-{int(rows[-1])} and columns {int(columns[0])}-{int(columns[-1])} of "
        f"{wrong.shape[0]} x {wrong.shape[1]}; the first, at ({row}, {column}), is "
        f"{float(found[row, column]):g} and should be {float(reference[row, column]):g}"
    )


class GuardedMatrix:
    """A matrix of NaN between guard elements of NaN: what was not written stays NaN, and writes
    outside of it are found.
    """

    _GUARD = 4096

    def __init__(self, torch: Any, rows: int, columns: int, dtype: Any = None) -> None:
        size = rows * columns
        self._all = torch.full(
            (size + 2 * self._GUARD,), float("nan"), dtype=dtype or torch.bfloat16, device="cuda"
        )
        self.inside = self._all[self._GUARD : self._GUARD + size].view(rows, columns)

    def overwritten(self) -> str:
        """Where something was written outside of the matrix; "" if nothing was."""
        for name, guard in (
            ("before", self._all[: self._GUARD]),
            ("behind", self._all[-self._GUARD :]),
        ):
            if count := int((~guard.isnan()).sum()):
                return f"{count} elements {name} the output were overwritten"
        return ""
