"""What an inspection's roofline shows: roofs of the measured device, points of its kernels."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.inspect.results import Part
from experiments.views.roofline import Chart, Point, compute_roofs, memory_roofs
from mcts.domain import Ceilings, KernelProfile
from mcts.domain import metrics as m

_NEGLIGIBLE = 1.0
"""% of its peak below which a unit did nothing worth counting."""
_TENSOR_MATH = frozenset({"bf16", "fp16", "tf32"})


def chart_of(parts: Sequence[Part]) -> Chart | None:
    """The chart of all parts whose intensity and rate are known; None without points or roofs."""
    ceilings = next((c for part in parts if (c := _ceilings(part)) is not None), None)
    points = [point for part in parts if (point := _point(part)) is not None]
    if ceilings is None or not points:
        return None
    return Chart.around(memory_roofs(ceilings), compute_roofs(ceilings), points)


def why_no_chart(parts: Sequence[Part]) -> str:
    """What is missing for a chart, as the end of a sentence."""
    if all(_ceilings(part) is None for part in parts):
        return "no device was measured, so its ceilings are not known"
    if all(part.guidance.roofline is None for part in parts):
        return "no counters and no time, so no place under the roofline"
    return "the operations per byte are not known, or there are no operations"


def _ceilings(part: Part) -> Ceilings | None:
    return part.profile.hardware.ceilings if part.profile.hardware else None


def _point(part: Part) -> Point | None:
    """By the least work of a call, else by what the counters saw."""
    roofline, kernel = part.guidance.roofline, part.kernel
    name = kernel.name if kernel else ""
    roof = "bf16" if _on_tensor_cores(part) else "fp32"
    if roofline and roofline.intensity_flop_per_byte and roofline.achieved_tflop_per_s:
        return Point(name, roofline.intensity_flop_per_byte, roofline.achieved_tflop_per_s, roof)
    return _counted(kernel) if kernel and part.work is None else None


def _counted(kernel: KernelProfile) -> Point | None:
    """fp32 operations that were executed, over the bytes that DRAM moved.

    None if one of them was not counted, and for kernels that compute on other units, whose
    operations no counter here tells.
    """
    names = (m.FFMA, m.FADD, m.FMUL, m.DRAM_READ_BYTES, m.DRAM_WRITE_BYTES, m.DURATION)
    found = [value for name in names if (value := kernel.value(name)) is not None]
    elsewhere = max(kernel.value(m.TENSOR_PIPE) or 0.0, kernel.value(m.FP64_PIPE) or 0.0)
    if len(found) < len(names) or elsewhere >= _NEGLIGIBLE:
        return None
    ffma, fadd, fmul, read, written, nanoseconds = found
    flops, moved = 2 * ffma + fadd + fmul, read + written
    if min(flops, moved, nanoseconds) <= 0:
        return None
    return Point(f"{kernel.name} (as counted)", flops / moved, flops / nanoseconds / 1e3)


def _on_tensor_cores(part: Part) -> bool:
    if part.work is not None:
        return part.work.math in _TENSOR_MATH
    sass = part.kernel.sass if part.kernel else None
    return sass is not None and sass.tensor_ops > 0
