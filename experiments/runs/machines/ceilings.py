"""What each GPU of this machine reaches, beside what its datasheet prints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcts.errors import RooftreeError

if TYPE_CHECKING:
    from pathlib import Path

    from profilers.hardware.ceilings import Rates
    from profilers.hardware.datasheet import Datasheet
    from profilers.hardware.device import Gpu

Say = Callable[[str], None]
LOCK_WAIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Ceiling:
    """One rate: measured, printed on the datasheet if it has it, and the first over the second.

    `measured` is None if this device has no probe for it.
    """

    name: str
    unit: str
    measured: float | None
    datasheet: float | None = None

    @property
    def ratio(self) -> float | None:
        if self.measured is None or self.datasheet is None:
            return None
        return self.measured / self.datasheet


@dataclass(frozen=True, slots=True)
class DeviceCeilings:
    """The rates of one GPU; `problem` says why there are none, `source` names the datasheet."""

    device: int
    name: str
    rows: tuple[Ceiling, ...] = ()
    source: str | None = None
    measured_now: bool = False
    problem: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "device": self.device,
            "name": self.name,
            "problem": self.problem or None,
            "measured_now": self.measured_now,
            "datasheet": self.source,
            "rates": {
                row.name: {
                    "unit": row.unit,
                    "measured": row.measured,
                    "datasheet": row.datasheet,
                    "ratio": row.ratio,
                }
                for row in self.rows
            },
        }


def device_ceilings(
    names: tuple[str, ...], *, on_progress: Say, cache_dir: Path | None = None
) -> list[DeviceCeilings]:
    """Ceilings of the GPUs called `names`, in the order CUDA shows them.

    Taken from the cache, else measured under the GPU's lock. A GPU that is busy, or on which
    anything fails, has its reason instead.
    """
    return [
        _of_device(device, name, on_progress=on_progress, cache_dir=cache_dir)
        for device, name in enumerate(names)
    ]


def _of_device(
    device: int, name: str, *, on_progress: Say, cache_dir: Path | None
) -> DeviceCeilings:
    from profilers.children.processes import ChildGone
    from profilers.children.protocol import RequestRefused
    from profilers.hardware.ceilings import load_rates
    from profilers.hardware.datasheet import datasheet
    from profilers.hardware.device import find_gpu

    try:
        gpu = find_gpu(device)
        known = load_rates(gpu.uuid, gpu.hardware.driver, cache_dir=cache_dir)
        rates = known or _measure(gpu, on_progress=on_progress, cache_dir=cache_dir)
    except (RooftreeError, ChildGone, RequestRefused, OSError) as error:
        return DeviceCeilings(device, name, problem=" ".join(str(error).split()))
    sheet = datasheet(gpu.hardware.name)
    return DeviceCeilings(
        device,
        name,
        rows=with_datasheet(rates, sheet),
        source=sheet.source if sheet else None,
        measured_now=known is None,
    )


def _measure(gpu: Gpu, *, on_progress: Say, cache_dir: Path | None) -> Rates:
    """Probe the device in a worker of its own, as before a search."""
    from profilers.hardware.locks import GpuLock
    from profilers.measuring.rates import rates_of

    def say(text: str) -> None:
        on_progress(f"GPU {gpu.ordinal}: {text}")

    lock = GpuLock(gpu.uuid)
    lock.acquire(wait_s=LOCK_WAIT_S, on_wait=say)
    try:
        return rates_of(gpu, cache_dir=cache_dir, on_progress=say)
    finally:
        lock.release()


def with_datasheet(rates: Rates, sheet: Datasheet | None) -> tuple[Ceiling, ...]:
    """Each measured rate with its counterpart on the datasheet."""
    memory = sheet.memory_gb_per_s if sheet else None
    return (
        Ceiling("memory copy", "GB/s", rates.copy_gb_per_s, memory),
        Ceiling("memory read", "GB/s", rates.read_gb_per_s, memory),
        Ceiling("L2 read", "GB/s", rates.l2_gb_per_s),
        Ceiling("shared memory read", "GB/s", rates.shared_gb_per_s),
        Ceiling(
            "fp32", "TFLOP/s", rates.fp32_tflop_per_s, sheet.fp32_tflop_per_s if sheet else None
        ),
        Ceiling(
            "bf16 tensor, dense",
            "TFLOP/s",
            rates.bf16_tflop_per_s,
            sheet.bf16_tflop_per_s if sheet else None,
        ),
        Ceiling("empty launch", "us", rates.launch_us),
    )
