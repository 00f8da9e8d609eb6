"""How well a warp's global accesses fill the sectors they touch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mcts.domain import metrics as m
from mcts.microtool.kernel_context import KernelContext

IDEAL_SECTORS = 4.0
"""Sectors of 32 bytes in a fully used request of 32 lanes with 32 bits each."""
_WIDEST = 128
_DIRECTIONS = (
    ("load", m.LOAD_SECTORS, m.LOAD_REQUESTS, m.LOAD_BYTES_PER_SECTOR, "global_loads"),
    ("store", m.STORE_SECTORS, m.STORE_REQUESTS, m.STORE_BYTES_PER_SECTOR, "global_stores"),
)


@dataclass(frozen=True, slots=True)
class GlobalAccesses:
    """A kernel's global loads or stores: warp requests, and the sectors they touch.

    `used_bytes` is how many bytes of a touched sector the lanes use, None if not measured; a value
    that many lanes share counts once. `widest` is the widest access in the code, in bits; unless it
    is known `from_code`, the widest possible one. `share` is its part of all global sectors.
    """

    name: str
    field: str
    metric: str
    sectors: float
    requests: float
    used_bytes: float | None
    widest: int
    from_code: bool
    share: float

    @property
    def sectors_per_request(self) -> float:
        return self.sectors / self.requests

    @property
    def ideal(self) -> float:
        """Sectors per request that would hold what the lanes use.

        If that was not measured: what the widest access in the code would fill.
        """
        if self.used_bytes is not None:
            return self.sectors_per_request * self.used_bytes / m.SECTOR_BYTES
        return min(self.sectors_per_request, IDEAL_SECTORS * self.widest / 32)

    @property
    def excess(self) -> float:
        """Sectors touched over sectors that would do."""
        return self.sectors_per_request / self.ideal

    @property
    def excess_per_request(self) -> float:
        """Sectors per request that would not be needed."""
        return self.sectors_per_request - self.ideal

    @property
    def wasted_share(self) -> float:
        """Share of all the kernel's global sectors that these accesses waste."""
        return self.share * (1 - 1 / self.excess)


def global_accesses(context: KernelContext) -> Iterator[GlobalAccesses]:
    """The kernel's loads and stores, as far as they were counted and there are any."""
    total = sum(context.value(sectors) or 0.0 for _, sectors, _, _, _ in _DIRECTIONS)
    for name, sectors, requests, bytes_used, field in _DIRECTIONS:
        counts = context.values(sectors, requests)
        if counts is None or min(counts) <= 0:
            continue
        used = None if _copies_beside(context, field) else context.value(bytes_used)
        yield GlobalAccesses(
            name=name,
            field=field,
            metric=bytes_used,
            sectors=counts[0],
            requests=counts[1],
            used_bytes=min(used, m.SECTOR_BYTES) if used else None,
            widest=_widest(context, field),
            from_code=context.sass is not None,
            share=counts[0] / total,
        )


def _copies_beside(context: KernelContext, field: str) -> bool:
    """Whether asynchronous copies fetch as well: their sectors are counted, their bytes are not."""
    return field == "global_loads" and context.sass is not None and context.sass.async_copies > 0


def _widest(context: KernelContext, field: str) -> int:
    """Bits of the widest access in the code; without code, the widest possible one."""
    if context.sass is None:
        return _WIDEST
    found = [int(bits) for bits, count in getattr(context.sass, field).items() if count]
    return min(_WIDEST, max(found)) if found else _WIDEST
