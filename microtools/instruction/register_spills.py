"""Registers that did not fit, or arrays indexed by variables, go through local memory."""

from __future__ import annotations

from mcts.domain import Evidence, Finding, SassFacts
from mcts.microtool.tool import RUNNING, KernelContext, Tool, strength, where
from microtools.trigonometry import local_share, owns_local_memory

LOUD_SHARE = 0.10
EXECUTED_SHARE = 0.005
"""Of the executed instructions; below it the local accesses stand on a path hardly ever taken."""
FULL = 120
"""Registers per thread from which values spill; below it an array is indexed with a variable."""


def judge(context: KernelContext) -> Finding | None:
    """Silent about the words that the slow path of trigonometry keeps: those are no spills."""
    sass = context.sass
    if sass is None or sass.instructions == 0:
        return None
    spilled = sass.local_loads + sass.local_stores
    executed = local_share(context)
    if spilled == 0 or (executed is not None and executed < EXECUTED_SHARE):
        return None
    if owns_local_memory(sass):
        return None
    share = spilled / sass.instructions
    lines = context.lines("local_loads", "local_stores")
    score = strength(share, 0.0, LOUD_SHARE)
    if executed is not None:
        score = strength(executed, EXECUTED_SHARE, LOUD_SHARE)
    cause, methods = _cause(sass)
    return Finding(
        tool=TOOL.name,
        axis="latency",
        lines=lines,
        strength=score,
        evidence=(
            Evidence(metric="local loads and stores in the code", value=spilled, threshold=0),
            *_measured(executed),
            *_held(sass),
        ),
        advice=(
            f"The code holds {spilled} local-memory accesses ({share:.0%} of its instructions)"
            f"{where(lines)}. {cause}"
        ),
        methods=methods,
    )


def _measured(executed: float | None) -> tuple[Evidence, ...]:
    if executed is None:
        return ()
    metric = "local accesses as a share of the executed instructions"
    return (Evidence(metric=metric, value=round(executed, 4), threshold=EXECUTED_SHARE),)


def _held(sass: SassFacts) -> tuple[Evidence, ...]:
    if not sass.stack_bytes:
        return ()
    return (Evidence(metric="local bytes per thread", value=sass.stack_bytes, threshold=0),)


def _cause(sass: SassFacts) -> tuple[str, tuple[str, ...]]:
    """A thread with registers to spare does not spill: it indexes an array with a variable."""
    constant = (
        "Unroll the loops that index per-thread arrays so that every index is a constant, or move "
        "the array into shared memory"
    )
    smaller = (
        "Shrink the per-thread tile, shorten the life of values (load them where they are used), "
        "and relax a __launch_bounds__ or register limit that asks for too many blocks"
    )
    registers = sass.registers
    if registers is None:
        return (
            f"Values spill, or an array is indexed with a variable. {constant}. {smaller}.",
            ("latency.launch_bounds", "compute.register_tiling", "compute.loop_unrolling"),
        )
    if registers >= FULL:
        return (
            f"At {registers} registers per thread values spill. {smaller}. {constant}.",
            ("latency.launch_bounds", "compute.register_tiling", "compute.loop_unrolling"),
        )
    return (
        f"At only {registers} registers per thread, an array is indexed with a variable or a "
        f"register limit is too tight. {constant}. {smaller}.",
        ("compute.loop_unrolling", "latency.launch_bounds", "memory.shared_tiling"),
    )


TOOL = Tool(name="register_spills", level="instruction", affinity=RUNNING, order=40, judge=judge)
