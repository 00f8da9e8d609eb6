"""Much of the time is spent in kernels of libraries, which nobody here can edit."""

from __future__ import annotations

from mcts.domain import Evidence, Finding, KernelProfile
from mcts.domain import metrics as m
from mcts.microtool.tool import ANY, BUSY, KernelContext, Tool, strength

SHARE = 0.25
MOST_NAMED = 4


def judge(context: KernelContext) -> Finding | None:
    """Silent if some kernel was not timed: the shares are then unknown."""
    times = [(kernel, kernel.total_us) for kernel in context.profile.kernels]
    known = [(kernel, us) for kernel, us in times if us is not None]
    total = sum(us for _, us in known)
    if len(known) < len(times) or total <= 0:
        return None
    libraries = sorted((item for item in known if item[0].library), key=lambda item: -item[1])
    share = sum(us for _, us in libraries) / total
    if not libraries or share < SHARE:
        return None
    named = [f"{kernel.name} ({us / total:.0%})" for kernel, us in libraries[:MOST_NAMED]]
    more = f" and {len(libraries) - MOST_NAMED} more" if len(libraries) > MOST_NAMED else ""
    return Finding(
        tool=TOOL.name,
        axis="compute" if _computes(libraries[0][0]) else "memory",
        strength=strength(share, SHARE, 1.0),
        evidence=(
            Evidence(
                metric="share of the kernels' time in libraries",
                value=round(share, 3),
                threshold=SHARE,
            ),
        ),
        advice=(
            f"Kernels of libraries take {share:.0%} of the time: {', '.join(named)}{more}. Their "
            "source is not yours to change. Put kernels of your own in their place that also do "
            "the steps before and behind them; or keep a library's call that is near the device's "
            "peak, hand it what it takes without a conversion or a copy, and merge the rest "
            "around it."
        ),
        methods=("memory.fused_passes", "latency.fewer_launches"),
    )


def _computes(kernel: KernelProfile) -> bool:
    """Whether its multiprocessors were busy, as far as that was measured."""
    return (kernel.value(m.SM) or 0.0) >= BUSY


TOOL = Tool(name="library_kernels", level="system", affinity=ANY, order=450, judge=judge)
