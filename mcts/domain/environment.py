"""What a candidate ran on and in: the device with its measured ceilings, and the sandbox."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mcts.domain.base import Noun

IsolationLevel = Literal["full", "partial", "process"]


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


class Isolation(Noun):
    """What stood between untrusted code and the machine while it ran.

    full: its own user, process, network and mount namespaces, Landlock, seccomp, no new
    privileges and resource limits. partial: some of them; `missing` says which not, and why.
    process: nothing but a process group, an allow-listed environment and resource limits.
    """

    level: IsolationLevel
    parts: tuple[str, ...] = ()
    missing: dict[str, str] = {}

    def __str__(self) -> str:
        if not self.missing:
            return self.level
        return f"{self.level} (without {', '.join(sorted(self.missing))})"
