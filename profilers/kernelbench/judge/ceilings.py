"""The measured ceilings of the GPU that PyTorch candidates run on."""

from __future__ import annotations

from collections.abc import Callable

from mcts.domain import Ceilings
from mcts.errors import RooftreeError
from profilers.compiling.compiler import Compiler, architecture
from profilers.hardware.ceilings import load_rates
from profilers.hardware.device import Gpu
from profilers.measuring.rates import SUPPORT_SOURCE, measured_rates

_DEADLINE_S = 60.0


def ceilings_of(gpu: Gpu, say: Callable[[str], None]) -> Ceilings | str:
    """What was measured on `gpu` before, or is now; why there is nothing, where it cannot be.

    The caller holds the GPU's lock. PyTorch candidates are judged without ceilings just as well:
    where there is no compiler for the probes, only the roofline knows less.
    """
    known = load_rates(gpu.uuid, gpu.hardware.driver)
    if known is not None:
        return known.ceilings
    try:
        compiler = Compiler(
            arch=architecture(gpu.compute_capability), processes=1, deadline_s=_DEADLINE_S
        )
        try:
            support = compiler.compile(SUPPORT_SOURCE.read_text(), name=SUPPORT_SOURCE.name)
            return measured_rates(gpu, support.cubin, on_progress=say).ceilings
        finally:
            compiler.close()
    except RooftreeError as error:
        return str(error)
