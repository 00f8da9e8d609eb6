"""The ceilings of a device: bandwidths of its memory levels, arithmetic rates, launch cost.

`measuring.probes` measures them; they are cached per GPU and driver.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcts.files import write_whole
from mcts.formats import parse_json
from profilers.hardware.locks import user_cache_dir

if TYPE_CHECKING:
    from mcts.domain import Ceilings
    from mcts.domain.task import MathUnit

TF32_OF_BF16 = 0.5
"""Tensor cores take tf32 at half the rate of bf16, on every architecture that has both."""

_VERSION = 4


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates reached by the probes; None if this device has no such probe.

    The copy counts bytes read and written; L2 and shared memory are read by all multiprocessors.
    """

    copy_gb_per_s: float
    read_gb_per_s: float
    fp32_tflop_per_s: float
    launch_us: float
    l2_gb_per_s: float | None = None
    shared_gb_per_s: float | None = None
    bf16_tflop_per_s: float | None = None

    @property
    def ceilings(self) -> Ceilings:
        from mcts.domain import Ceilings

        return Ceilings(**asdict(self))


def math_rate(rates: Rates | Ceilings, unit: MathUnit) -> float | None:
    """The ceiling in TFLOP/s for arithmetic of `unit`; None if no probe measures it.

    fp16 and bf16 share the tensor cores' rate, tf32 has half of it. Nothing is said of fp64 and
    int32: their share of the fp32 rate differs from one architecture to the next.
    """
    if unit == "fp32":
        return rates.fp32_tflop_per_s
    bf16 = rates.bf16_tflop_per_s
    if bf16 is None or unit in ("fp64", "int32"):
        return None
    return bf16 * TF32_OF_BF16 if unit == "tf32" else bf16


def load_rates(uuid: str, driver: str | None, *, cache_dir: Path | None = None) -> Rates | None:
    """Rates measured earlier on this GPU under this driver; None if there are none, or changed."""
    from mcts.domain import sealed, unsealed

    try:
        found = parse_json(_file(uuid, cache_dir).read_text(encoding="utf-8"))
        data = unsealed(found)
        if sealed(data) != found or (data.pop("version"), data.pop("driver")) != (_VERSION, driver):
            return None
        return Rates(**data)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store_rates(
    uuid: str, driver: str | None, rates: dict[str, Any], *, cache_dir: Path | None = None
) -> Rates:
    """Keep `rates` for next time; a cache that cannot be written is no error."""
    from mcts.domain import sealed

    path = _file(uuid, cache_dir)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(sealed({**rates, "version": _VERSION, "driver": driver}))
        write_whole(path, text, private=True)
    return Rates(**rates)


def _file(uuid: str, cache_dir: Path | None) -> Path:
    return (cache_dir or user_cache_dir()) / "ceilings" / f"{uuid}.json"
