"""Names of the ways in which inputs are drawn; the judge asks by them, the oracle draws.

given: as the problem draws them. scaled, signed, batch: near to that, see `oracle.draws`. Beyond
what the problem draws, where its own model is sound all the same, there are kinds of rows:

offset: eight times the greatest value is added or taken off. large: times 100 to 10,000. small:
divided by 100 to 3,000, so that squares are about as large as what is added below a root. tiny:
divided by 10,000 to 100,000,000. denormal: below the least normal number. spike: one element of
each row is a million times the greatest value. equal, tied, sorted: a row of one value, of few
values, in order. sparse: of 64 elements one is kept, the others are zero.
"""

from __future__ import annotations

from collections.abc import Sequence

NEAR = ("scaled", "signed", "batch")
VALUES = ("offset", "large", "small", "tiny", "denormal", "spike")
PATTERNS = ("equal", "tied", "sorted", "sparse")
ALIKE = ("equal", "tied", "sorted")
"""Rows in which all terms of a sum may round alike."""
KINDS = (*VALUES, *PATTERNS)
_BEYOND = "beyond:"


def beyond(kinds: Sequence[str]) -> str:
    """The name of inputs whose rows are of these kinds in turn."""
    return _BEYOND + ",".join(kinds)


def kinds_beyond(variation: str) -> tuple[str, ...]:
    """The kinds of rows in such a name; none for any other variation."""
    if not variation.startswith(_BEYOND):
        return ()
    return tuple(kind for kind in variation.removeprefix(_BEYOND).split(",") if kind in KINDS)
