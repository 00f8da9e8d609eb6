"""From what was seen of a variant to its performance state."""

from __future__ import annotations

import re

from mcts.domain import Guidance, KernelProfile, Profile, SassFacts, StateSignature
from mcts.domain import metrics as m
from mcts.domain.lesson import Arithmetic

_STALL = re.compile(r"^smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio$")
_READY = "not_selected"
"""A warp that could have gone on while another did: no wait."""
_TENSOR_BUSY = 1.0


def state_of(guidance: Guidance | None, profile: Profile | None = None) -> StateSignature:
    """The performance state that a guidance, and the profile behind it, speak about."""
    roofline = guidance.roofline if guidance else None
    dominant = profile.dominant if profile else None
    return StateSignature(
        bound=roofline.bound if roofline else "unknown",
        near_peak=roofline.near_peak if roofline else False,
        level=roofline.level if roofline else None,
        arithmetic=_arithmetic(dominant) if dominant else "unknown",
        secondary=guidance.findings[0].tool if guidance and guidance.findings else "",
        stall=_stall(dominant) if dominant else "",
    )


def _stall(kernel: KernelProfile) -> str:
    """What its warps wait for most; empty if no stall was measured."""
    stalls = {
        found[1]: metric.value
        for name, metric in kernel.metrics.items()
        if (found := _STALL.match(name)) and found[1] != _READY
    }
    return max(sorted(stalls), key=lambda name: stalls[name], default="")


def _arithmetic(kernel: KernelProfile) -> Arithmetic:
    """What it computes with, by its machine code, else by its counters."""
    if (kernel.value(m.TENSOR_PIPE) or 0.0) > _TENSOR_BUSY:
        return "tensor"
    if kernel.sass is not None:
        return _computes_with(kernel.sass)
    fp32 = sum(kernel.value(name) or 0.0 for name in (m.FFMA, m.FADD, m.FMUL))
    return "fp32" if fp32 > 0 else "unknown"


def _computes_with(code: SassFacts) -> Arithmetic:
    """Floating point goes before integers, which every kernel needs for its addresses."""
    if code.tensor_ops:
        return "tensor"
    counts: dict[Arithmetic, int] = {
        "fp32": code.fma_ops + code.fadd_ops + code.fmul_ops,
        "fp64": code.double_ops,
        "half": code.half_ops,
    }
    most = max(counts, key=lambda kind: counts[kind])
    if counts[most]:
        return most
    return "integer" if code.instructions else "unknown"
