"""Which device was measured, and the ceilings found on it."""

from __future__ import annotations

from pydantic import Field

from mcts.domain.base import Noun


class Ceilings(Noun):
    """Rates reached by a probe on this very device, not the datasheet's.

    `copy_gb_per_s` counts bytes read and written through device memory; `bf16_tflop_per_s` is the
    tensor cores' dense rate with fp32 accumulation; L2 and shared memory are read bandwidths of the
    whole device. None: not probed.
    """

    copy_gb_per_s: float = Field(gt=0)
    read_gb_per_s: float | None = Field(default=None, gt=0)
    l2_gb_per_s: float | None = Field(default=None, gt=0)
    shared_gb_per_s: float | None = Field(default=None, gt=0)
    fp32_tflop_per_s: float | None = Field(default=None, gt=0)
    bf16_tflop_per_s: float | None = Field(default=None, gt=0)
    launch_us: float | None = Field(default=None, gt=0)


class Hardware(Noun):
    """The device behind the numbers. `recorded_on` is the ISO date of a replayed recording."""

    name: str
    compute_capability: str | None = None
    multiprocessors: int | None = None
    l2_bytes: int | None = None
    memory_bytes: int | None = None
    driver: str | None = None
    cuda: str | None = None
    clocks: str | None = None
    recorded_on: str | None = None
    ceilings: Ceilings | None = None

    def __str__(self) -> str:
        if self.recorded_on is not None:
            return f"{self.name} (recorded {self.recorded_on}, replayed)"
        return self.name
