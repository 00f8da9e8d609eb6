"""How well a warp's global accesses fill the sectors they touch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mcts.domain import metrics as m
from microtools.case import Case

IDEAL_SECTORS = 4.0
"""Sectors of 32 bytes in a fully used request of 32 lanes with 32 bits each."""
_WIDEST = 128
_SIDES = (
    ("load", m.LOAD_SECTORS, m.LOAD_REQUESTS, m.LOAD_BYTES_PER_SECTOR, "global_loads"),
    ("store", m.STORE_SECTORS, m.STORE_REQUESTS, m.STORE_BYTES_PER_SECTOR, "global_stores"),
)


@dataclass(frozen=True, slots=True)
class Side:
    """A kernel's global loads or stores: warp requests, and the sectors they touch.

    `used` is how many bytes of a touched sector the lanes use, None where not measured; a value
    that many lanes share counts once. `widest` is the widest access in the code, in bits; where
    nobody `looked`, the widest there is. `share` is the side's part of all global sectors.
    """

    name: str
    field: str
    metric: str
    sectors: float
    requests: float
    used: float | None
    widest: int
    looked: bool
    share: float

    @property
    def per_request(self) -> float:
        return self.sectors / self.requests

    @property
    def ideal(self) -> float:
        """Sectors per request that would hold what the lanes use.

        Where that was not measured: what the widest access in the code would fill.
        """
        if self.used is not None:
            return self.per_request * self.used / m.SECTOR_BYTES
        return min(self.per_request, IDEAL_SECTORS * self.widest / 32)

    @property
    def excess(self) -> float:
        """Sectors touched over sectors that would do."""
        return self.per_request / self.ideal

    @property
    def extra(self) -> float:
        """Sectors per request that would not be needed."""
        return self.per_request - self.ideal

    @property
    def wasted(self) -> float:
        """Share of all the kernel's global sectors that this side touches in vain."""
        return self.share * (1 - 1 / self.excess)


def sides(case: Case) -> Iterator[Side]:
    """The kernel's loads and stores, as far as they were counted and there are any."""
    total = sum(case.value(sectors) or 0.0 for _, sectors, _, _, _ in _SIDES)
    for name, sectors, requests, bytes_used, field in _SIDES:
        counts = case.values(sectors, requests)
        if counts is None or min(counts) <= 0:
            continue
        used = case.value(bytes_used)
        yield Side(
            name=name,
            field=field,
            metric=bytes_used,
            sectors=counts[0],
            requests=counts[1],
            used=min(used, m.SECTOR_BYTES) if used else None,
            widest=_widest(case, field),
            looked=case.sass is not None,
            share=counts[0] / total,
        )


def _widest(case: Case, field: str) -> int:
    """Bits of the widest access in the code; where nobody looked, the widest there is."""
    if case.sass is None:
        return _WIDEST
    found = [int(bits) for bits, count in getattr(case.sass, field).items() if count]
    return min(_WIDEST, max(found)) if found else _WIDEST
