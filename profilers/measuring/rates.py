"""The ceilings of a GPU: from the cache, or probed in a worker once per GPU and driver."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcts.errors import WorldError
from profilers.children.processes import ChildGone
from profilers.children.protocol import RequestRefused
from profilers.compiling.compiler import Compiler, architecture
from profilers.hardware.ceilings import Rates, load_rates, store_rates
from profilers.hardware.device import Gpu
from profilers.launching.gpu_worker import GpuWorker

SUPPORT_SOURCE = Path(__file__).with_name("support.cu")
_PROBE_TIMEOUT_S = 60.0


def rates_of(
    gpu: Gpu,
    *,
    cache_dir: Path | None = None,
    on_progress: Callable[[str], None] = lambda _text: None,
) -> Rates:
    """`measured_rates` for a caller without a compiler: one is started if nothing is known yet.

    The caller holds the GPU's lock. Raises RooftreeError if compiling or measuring fails.
    """
    known = load_rates(gpu.uuid, gpu.hardware.driver, cache_dir=cache_dir)
    if known is not None:
        return known
    compiler = Compiler(arch=architecture(gpu.compute_capability), cache_dir=cache_dir, processes=1)
    try:
        support = compiler.compile(SUPPORT_SOURCE.read_text(), name=SUPPORT_SOURCE.name)
    finally:
        compiler.close()
    return measured_rates(gpu, support.cubin, cache_dir=cache_dir, on_progress=on_progress)


def measured_rates(
    gpu: Gpu,
    support: Path,
    *,
    worker: GpuWorker | None = None,
    cache_dir: Path | None = None,
    on_progress: Callable[[str], None] = lambda _text: None,
) -> Rates:
    """Rates of `gpu`; `support` is the compiled `support.cu`. The caller holds the GPU's lock.

    A worker is started for the probes unless `worker` is given. WorldError where they fail.
    """
    release = gpu.hardware.driver
    known = load_rates(gpu.uuid, release, cache_dir=cache_dir)
    if known is not None:
        return known
    on_progress("measuring the device's ceilings")
    if worker is not None:
        return store_rates(gpu.uuid, release, _probe(worker), cache_dir=cache_dir)
    own = GpuWorker(device=gpu.ordinal, support=support, setup=lambda _worker: None)
    try:
        own.ready()
        return store_rates(gpu.uuid, release, _probe(own), cache_dir=cache_dir)
    finally:
        own.close()


def _probe(worker: GpuWorker) -> dict[str, Any]:
    try:
        rates: dict[str, Any] = worker.ask({"op": "probe"}, timeout_s=_PROBE_TIMEOUT_S)["rates"]
    except (ChildGone, RequestRefused) as error:
        raise WorldError(f"the device's ceilings could not be measured: {error}") from None
    return rates
