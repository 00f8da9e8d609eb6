"""Index arithmetic, divisions and range reductions take the issue slots that the work needs."""

from __future__ import annotations

from collections.abc import Mapping

from mcts.domain import BoundClass, Evidence, Finding, InstructionKind
from mcts.domain import metrics as m
from mcts.microtool.tool import RUNNING, KernelContext, Tool, percent, strength, where
from microtools.trigonometry import SLOW_PATH, SLOW_PATH_ALWAYS, slow_path_share

ALU_BUSY = 50.0
ISSUING = 0.5
INTEGER_SHARE = 0.5
LEAST_SHARE = 0.35
"""Integer share of the hot code below which a busy ALU pipe has compares and minima to do."""
USEFUL = 0.25
"""Share of fp32 arithmetic in the issued instructions from which it is no side show."""
_WAITING: frozenset[BoundClass] = frozenset({"memory", "latency", "launch"})
_USEFUL_PIPES = (m.FMA_PIPE, m.XU_PIPE, m.FP64_PIPE, m.TENSOR_PIPE)


def judge(context: KernelContext) -> Finding | None:
    """Silent on integer tasks (unless they divide), and if instructions are not the limit."""
    if (slow := slow_path_share(context)) >= SLOW_PATH and not context.dram_saturated:
        return _slow_trigonometry(context, slow)
    if context.bound in _WAITING or context.dram_saturated:
        return None
    divides = _divides(context)
    if _integers_are_meant(context) and not divides:
        return None
    if (_useful(context) or 0.0) >= USEFUL or (context.value(m.TENSOR_PIPE) or 0.0) >= USEFUL * 100:
        return None
    evidence = _evidence(context)
    if not evidence:
        return None
    lines = context.hot_lines or context.lines("integer_ops")
    share = _hot_share(context)
    scored = [strength(item.value, item.threshold, full) for item, full in evidence]
    division = (
        "Divisions and modulos by run-time values become a dozen instructions or more: make the "
        "divisor a compile-time constant or a power of two, or multiply by a reciprocal prepared "
        "on the host. "
        if divides
        else ""
    )
    demand = ", and the issue slots are in demand" if context.kernel.metrics else ""
    amount = f"{share:.0%} of the hot code is" if share is not None else "The hot code is mostly"
    return Finding(
        tool=TOOL.name,
        axis="compute",
        lines=lines,
        strength=(1.0 if divides else 0.8) * max(scored),
        evidence=tuple(item for item, _ in evidence),
        advice=(
            f"{amount} integer arithmetic{where(lines)}{demand}. "
            f"{division}Step pointers instead of recomputing indices, hoist what does not change "
            "out of the loop, use 32-bit indices where they suffice, and let one index serve "
            "several elements (wider accesses, an unrolled loop)."
        ),
        methods=("compute.strength_reduction", "compute.loop_unrolling", "latency.work_per_thread"),
    )


def _slow_trigonometry(context: KernelContext, share: float) -> Finding:
    lines = context.lines("local_loads", "local_stores")
    return Finding(
        tool=TOOL.name,
        axis="compute",
        lines=lines,
        strength=strength(share, SLOW_PATH, SLOW_PATH_ALWAYS),
        evidence=(
            Evidence(
                metric="local accesses of sinf's slow path over the executed instructions",
                value=round(share, 4),
                threshold=SLOW_PATH,
            ),
        ),
        advice=(
            f"Sines and cosines take their slow path{where(lines)}: arguments beyond 1e5 are "
            "reduced by some hundred integer instructions and words in local memory. Reduce the "
            "argument before: keep a phase in turns and drop the whole ones (x - rintf(x), exact), "
            "then sinpif, cospif or sincospif; or subtract multiples of 2 pi in two parts by fmaf. "
            "A phase that grows step by step can be kept in [-pi, pi) from the start."
        ),
        methods=("compute.strength_reduction", "compute.fast_math"),
    )


def _evidence(context: KernelContext) -> list[tuple[Evidence, float]]:
    """The evidence, with the value that gives full strength."""
    alu, issue, share = context.value(m.ALU_PIPE), context.value(m.ISSUE), _hot_share(context)
    found: list[tuple[Evidence, float]] = []
    useful = max(context.known(*_USEFUL_PIPES).values(), default=0.0)
    integer = share is None or share >= LEAST_SHARE
    if alu is not None and alu >= ALU_BUSY and alu >= useful and integer:
        found.append((percent(m.ALU_PIPE, alu, ALU_BUSY), 90.0))
    if share is not None and share >= INTEGER_SHARE and issue is not None and issue >= ISSUING:
        metric = "integer share of the instructions in the hot loops"
        item = Evidence(metric=metric, value=round(share, 3), threshold=INTEGER_SHARE)
        found.append((item, 0.85))
    if not context.kernel.metrics and _divides_in_hot_code(context) and share is not None:
        metric = "integer share of the hot code, which divides by run-time values"
        found.append((Evidence(metric=metric, value=round(share, 3), threshold=LEAST_SHARE), 1.5))
    return found


def _divides_in_hot_code(context: KernelContext) -> bool:
    """Whether divisions stand in the hot loops: a reciprocal and two conversions each."""
    mix = context.sass.hot_mix if context.sass else {}
    reciprocals = mix.get("special", 0)
    return (
        0 < 2 * reciprocals <= mix.get("conversion", 0)
        and mix.get("integer", 0) >= 10 * reciprocals
        and (_share(mix) or 0.0) >= LEAST_SHARE
    )


def _integers_are_meant(context: KernelContext) -> bool:
    """Whether integers are the task: declared so, or undeclared and no float in the code."""
    if context.work is not None:
        return context.work.math == "int32"
    return context.sass is not None and _floating(context) == 0


def _hot_share(context: KernelContext) -> float | None:
    """Integer instructions in the deepest loops, of all there that are no loads or stores.

    Of all code if it divides: long divisions are subroutines outside the loops.
    """
    if context.sass is None:
        return None
    share = _share(context.sass.hot_mix)
    if share is None or not _divides(context):
        return share
    return max(share, _share(context.sass.mix) or 0.0)


def _share(mix: Mapping[InstructionKind, int]) -> float | None:
    total = sum(count for kind, count in mix.items() if kind != "memory")
    return mix.get("integer", 0) / total if total else None


def _useful(context: KernelContext) -> float | None:
    counts, instructions = context.known(m.FFMA, m.FADD, m.FMUL), context.value(m.INSTRUCTIONS)
    return sum(counts.values()) / 32 / instructions if counts and instructions else None


def _divides(context: KernelContext) -> bool:
    """Whether the code holds the reciprocal and conversions that an integer division becomes."""
    sass = context.sass
    if sass is None or not sass.special_ops or sass.conversion_ops < 2:
        return False
    many = sass.integer_ops >= 10 * sass.special_ops
    return many and _floating(context) <= sass.integer_ops / 4


def _floating(context: KernelContext) -> int:
    sass = context.sass
    if sass is None:
        return 0
    return sass.fma_ops + sass.fadd_ops + sass.fmul_ops + sass.half_ops + sass.double_ops


TOOL = Tool(
    name="integer_arithmetic",
    level="kernel",
    affinity=RUNNING,
    order=300,
    judge=judge,
    symptom_of=frozenset({"conversions", "missing_reuse", "register_spills", "stray_doubles"}),
)
