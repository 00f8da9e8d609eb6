"""What this very device can do: copy and read bandwidth, fp32 rate, the cost of a launch.

The probes run in a worker; the judge caches what they found per GPU and driver.
"""

from __future__ import annotations

import ctypes
import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profilers.locks import user_cache_dir

if TYPE_CHECKING:
    from mcts.domain import Ceilings
    from profilers.session import Session

_COPY_BYTES = 1024 * 2**20
_FMA_ITERATIONS = 4096
_FMA_CHAINS = 16
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates reached by the probes. The copy counts bytes read and written."""

    copy_gb_per_s: float
    read_gb_per_s: float
    fp32_tflop_per_s: float
    launch_us: float

    @property
    def ceilings(self) -> Ceilings:
        from mcts.domain import Ceilings

        return Ceilings(
            copy_gb_per_s=self.copy_gb_per_s,
            fp32_tflop_per_s=self.fp32_tflop_per_s,
            launch_us=self.launch_us,
        )


def probe(session: Session) -> dict[str, float]:
    """Measure the rates of the session's device."""
    from profilers.timing import median_event_us

    units = _COPY_BYTES // 16
    source = session.memory.get("probe/from", _COPY_BYTES)
    target = session.memory.get("probe/to", _COPY_BYTES)
    session.fill_random(source, "int32", "uniform", seed=2)
    pointers = (ctypes.c_uint64(source.pointer), ctypes.c_uint64(target.pointer))
    copy = session.support.prepare(
        "rooftree_copy", -(-units // 1024), 256, *pointers, ctypes.c_uint64(units)
    )
    blocks = session.context.multiprocessors * 8
    read = session.support.prepare(
        "rooftree_flush", blocks, 256, pointers[0], ctypes.c_uint64(units), pointers[1]
    )
    fma = session.support.prepare(
        "rooftree_fma", blocks, 256,
        pointers[1], ctypes.c_float(0.999), ctypes.c_float(0.001), ctypes.c_int32(_FMA_ITERATIONS),
    )  # fmt: skip
    empty = session.support.prepare("rooftree_empty", 1, 32)
    operations = 2.0 * _FMA_CHAINS * _FMA_ITERATIONS * blocks * 256
    for warm in (copy, fma, copy):
        median_event_us(session, warm, repeats=20)
    rates = Rates(
        copy_gb_per_s=2 * _COPY_BYTES / median_event_us(session, copy, repeats=15) / 1e3,
        read_gb_per_s=_COPY_BYTES / median_event_us(session, read, repeats=15) / 1e3,
        fp32_tflop_per_s=operations / median_event_us(session, fma, repeats=15) / 1e6,
        launch_us=median_event_us(session, empty, repeats=50),
    )
    session.memory.drop("probe/")
    return asdict(rates)


def load_rates(uuid: str, driver: str | None, *, cache_dir: Path | None = None) -> Rates | None:
    """Rates measured earlier on this GPU under this driver, or None."""
    try:
        data = json.loads(_file(uuid, cache_dir).read_text())
        if (data.pop("version"), data.pop("driver")) != (_VERSION, driver):
            return None
        return Rates(**data)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store_rates(
    uuid: str, driver: str | None, rates: dict[str, Any], *, cache_dir: Path | None = None
) -> Rates:
    """Keep `rates` for next time; a cache that cannot be written is no error."""
    path = _file(uuid, cache_dir)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            json.dump({**rates, "version": _VERSION, "driver": driver}, file)
        Path(file.name).replace(path)
    except OSError:
        pass
    return Rates(**rates)


def _file(uuid: str, cache_dir: Path | None) -> Path:
    return (cache_dir or user_cache_dir()) / "ceilings" / f"{uuid}.json"
