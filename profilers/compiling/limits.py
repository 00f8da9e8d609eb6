"""Whether a GPU would take a launch, by what the compiled kernel needs: said without a GPU."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from profilers.compiling.calls import Step
from profilers.compiling.cubin import KernelNeeds

MOST_SHARED = {
    "sm_70": 98_304, "sm_75": 65_536, "sm_80": 166_912, "sm_86": 101_376,
    "sm_89": 101_376, "sm_90": 232_448, "sm_100": 232_448, "sm_120": 101_376,
}  # fmt: skip
"""Bytes of shared memory that a block may have (CUDA C++ Programming Guide, table of technical
specifications per compute capability)."""
MOST_REGISTERS = 65_536
"""Registers that a block may have, on every GPU since Maxwell (the same table)."""
_RESERVED = 1024
_WARP, _REGISTER_UNIT = 32, 8  # registers are handed out to warps, so many a thread at a time


def most_shared(arch: str) -> int:
    """Bytes of shared memory that a block may have on `arch` ("sm_90a")."""
    return MOST_SHARED.get(arch.rstrip("af"), max(MOST_SHARED.values()))


def beyond(
    step: Step, number: int, needs: Mapping[str, KernelNeeds], *, arch: str
) -> Iterator[str]:
    """What makes launch `number` impossible on `arch`, in a line each; nothing is said of a kernel
    whose needs are not known.
    """
    known = needs.get(step.kernel or "")
    if known is None:
        return
    place, threads = f"launch {number} ({step.kernel})", math.prod(step.block)
    bound = known.most_threads
    if bound is not None and threads > bound:
        yield f"{place}: {threads} threads a block, and __launch_bounds__ allows {bound}"
    if known.registers is not None:
        warps = math.ceil(threads / _WARP)
        taken = math.ceil(known.registers / _REGISTER_UNIT) * _REGISTER_UNIT * _WARP * warps
        if taken > MOST_REGISTERS:
            most = MOST_REGISTERS // (_WARP * warps) // _REGISTER_UNIT * _REGISTER_UNIT
            yield (
                f"{place}: {known.registers} registers a thread, and with {threads} threads a "
                f"block may have {most}: bound it by __launch_bounds__({threads})"
            )
    static = known.shared_bytes or 0
    if _number(arch) >= 90:
        static = max(0, static - _RESERVED)
    if static and step.shared + static > most_shared(arch):
        yield (
            f"{place}: {step.shared:,} bytes of shared memory on top of {static:,} static ones, "
            f"and a block may have {most_shared(arch):,}"
        )


def _number(arch: str) -> int:
    digits = arch.removeprefix("sm_").rstrip("af")
    return int(digits) if digits.isdigit() else 0
