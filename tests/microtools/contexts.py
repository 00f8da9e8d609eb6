"""Builders of contexts: a kernel that shows some counters and machine code, for some work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcts.domain import (
    AxisGap,
    BoundClass,
    Ceilings,
    Hardware,
    KernelProfile,
    Metric,
    Profile,
    Roofline,
    SassFacts,
    SassLoop,
    TimelineFacts,
    Work,
)
from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext

MATMUL = Work(bytes=12 * 1024**2, flops=2 * 1024**3)
"""A matrix product of 1024 cubed in fp32: 170 operations per byte."""
STREAM = Work(bytes=2**28, flops=2**26)
"""Reads and writes each element once."""
H200 = Hardware(
    name="NVIDIA H200",
    multiprocessors=132,
    l2_bytes=50 * 2**20,
    ceilings=Ceilings(copy_gb_per_s=4000, fp32_tflop_per_s=55, launch_us=2.0),
)


def between(low: float, high: float, part: float) -> float:
    """The value a `part` of the way from `low` to `high`."""
    return low + (high - low) * part


def kernel(
    metrics: Mapping[str, float] | None = None,
    *,
    name: str = "k",
    sass: Mapping[str, Any] | None = None,
    launches: int = 1,
) -> KernelProfile:
    return KernelProfile(
        name=name,
        launches=launches,
        metrics={metric: Metric(value=value) for metric, value in (metrics or {}).items()},
        sass=SassFacts(**{"instructions": 100, **sass}) if sass is not None else None,
    )


def roofline(bound: BoundClass) -> Roofline:
    return Roofline(
        bound=bound,
        confidence=0.9,
        gap=AxisGap(compute=0.5, memory=0.5, latency=0.5),
        near_peak=False,
        method_budget={"compute": 1, "memory": 1, "latency": 1},
    )


def make_context(
    metrics: Mapping[str, float] | None = None,
    *,
    sass: Mapping[str, Any] | None = None,
    work: Work | None = MATMUL,
    timeline: Mapping[str, Any] | None = None,
    others: tuple[KernelProfile, ...] = (),
    bound: BoundClass | None = None,
    hardware: Hardware | None = H200,
    time_us: float | None = 100.0,
) -> KernelContext:
    """One kernel with `metrics` and `sass` among `others`, and a timeline of one call."""
    own = kernel(metrics, sass=sass)
    window = {"source": "nsys", "span_us": 1000.0, "busy_us": 500.0, **(timeline or {})}
    profile = Profile(
        kernels=(own, *others),
        timeline=TimelineFacts(**window) if timeline is not None else None,
        roofline=roofline(bound) if bound else None,
        hardware=hardware,
    )
    return KernelContext(work=work, profile=profile, kernel=own, time_us=time_us)


def without(context: KernelContext, metric: str) -> KernelContext:
    """The case as it would be had `metric` not been measured."""
    left = {name: value for name, value in context.kernel.metrics.items() if name != metric}
    own = context.kernel.model_copy(update={"metrics": left})
    kernels = tuple(own if one is context.kernel else one for one in context.profile.kernels)
    profile = context.profile.model_copy(update={"kernels": kernels})
    return KernelContext(work=context.work, profile=profile, kernel=own, time_us=context.time_us)


def stalls(latency: float = 100.0, **shares: float) -> dict[str, float]:
    """Counters of a warp that spends these shares of its `latency` on the named stalls."""
    named = {name.lower(): getattr(m, f"STALL_{name.upper()}") for name in shares}
    return {
        m.WARP_LATENCY: latency,
        **{named[name.lower()]: share * latency for name, share in shares.items()},
    }


def loop(**facts: Any) -> SassLoop:
    return SassLoop(**{"depth": 1, "instructions": 20, **facts})
