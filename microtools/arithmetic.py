"""Arithmetic that does not reach the arithmetic units."""

from __future__ import annotations

from mcts.domain import BoundClass, Evidence, Finding
from mcts.domain import metrics as m
from microtools.tool import Case, Tool, strength

FMA_SHARE = 0.5
UNFUSED_SHARE = 0.5
PIPE_BUSY = 60.0
DIVERGED = 24.0
TENSOR_IDLE = 5.0
INTENSE = 16.0
_COMPUTING: frozenset[BoundClass] = frozenset({"compute", "memory", "mixed", "latency"})


def fma_share(case: Case) -> Finding | None:
    """On an intense task, few of the issued instructions are multiply-adds."""
    known = case.values(m.FFMA, m.INSTRUCTIONS)
    if known is None or known[1] <= 0 or case.intensity is None or case.intensity < INTENSE:
        return None
    tensor = case.value(m.TENSOR_PIPE)
    if known[0] <= 0 or (tensor is not None and tensor > TENSOR_IDLE):
        return None
    share = known[0] / 32 / known[1]
    if share >= FMA_SHARE:
        return None
    evidence = [
        Evidence(
            metric="FFMA share of issued instructions",
            value=round(share, 3),
            threshold=FMA_SHARE,
        )
    ]
    if (pipe := case.value(m.FMA_PIPE)) is not None:
        evidence.append(Evidence(metric=m.FMA_PIPE, value=pipe, threshold=PIPE_BUSY, unit="%"))
    return Finding(
        tool=FMA_SHARE_TOOL.name,
        axis="compute",
        strength=strength(share, FMA_SHARE, 0.1),
        evidence=tuple(evidence),
        advice=(
            f"Only {share:.0%} of the issued instructions are the multiply-adds the task is about; "
            "the others load, index and branch. Let each thread compute a larger block of outputs "
            "in registers, load its operands 128 bits at a time, and unroll the inner loop so that "
            "addresses become constants."
        ),
        methods=("compute.register_tiling", "compute.loop_unrolling", "memory.vectorized_loads"),
    )


def unfused(case: Case) -> Finding | None:
    """Separate multiplies and adds where one instruction could do both."""
    known = case.values(m.FFMA, m.FADD, m.FMUL)
    if known is None or sum(known) <= 0 or min(known[1:]) <= 0:
        return None
    pairs = min(known[1], known[2])
    share = 2 * pairs / sum(known)
    if share < UNFUSED_SHARE:
        return None
    return Finding(
        tool=UNFUSED.name,
        axis="compute",
        strength=0.6 * strength(share, UNFUSED_SHARE, 1.0),
        evidence=(
            Evidence(
                metric="share of fp32 operations in unfused multiply and add pairs",
                value=round(share, 3),
                threshold=UNFUSED_SHARE,
            ),
        ),
        advice=(
            "Multiplies and adds run as separate instructions. Write them as a * b + c in one "
            "expression or as fmaf, and fold constant factors, so that the compiler can fuse them."
        ),
        methods=("compute.fast_math",),
    )


def special_functions(case: Case) -> Finding | None:
    """The unit for exponentials, reciprocals and conversions is the busy one."""
    busy = case.value(m.XU_PIPE)
    if busy is None or busy < PIPE_BUSY:
        return None
    count = f" The code holds {case.sass.special_ops} MUFU." if case.sass else ""
    return Finding(
        tool=SPECIAL_FUNCTIONS.name,
        axis="compute",
        strength=strength(busy, PIPE_BUSY, 90.0),
        evidence=(Evidence(metric=m.XU_PIPE, value=busy, threshold=PIPE_BUSY, unit="%"),),
        advice=(
            f"The special-function unit is {busy:.0f} % busy.{count} Compute each transcendental "
            "once and keep it, use exp2f with a folded log2(e) factor or __expf where the "
            "tolerance allows, replace divisions by one reciprocal, and hoist conversions."
        ),
        methods=("compute.fast_math", "memory.register_reuse"),
    )


def divergence(case: Case) -> Finding | None:
    """Instructions issued for far fewer than 32 lanes."""
    lanes = case.value(m.THREADS_PER_INSTRUCTION)
    if lanes is None or lanes >= DIVERGED:
        return None
    return Finding(
        tool=DIVERGENCE.name,
        axis="compute",
        strength=strength(lanes, DIVERGED, 8.0),
        evidence=(Evidence(metric=m.THREADS_PER_INSTRUCTION, value=lanes, threshold=DIVERGED),),
        advice=(
            f"An average instruction runs for {lanes:.1f} of 32 lanes. Give whole warps the same "
            "branch: regroup the work, replace a tree in which half the threads drop out at each "
            "step by warp shuffles, and predicate short branches."
        ),
        methods=("compute.warp_primitives", "latency.work_per_thread"),
    )


def tensor_cores(case: Case) -> Finding | None:
    """An intense task in a type the tensor cores take, computed without them."""
    cost = case.task.cost
    if cost is None or cost.math not in ("tf32", "fp16", "bf16"):
        return None
    active = case.value(m.TENSOR_PIPE)
    if active is None or active > TENSOR_IDLE or (case.intensity or 0) < INTENSE:
        return None
    return Finding(
        tool=TENSOR_CORES.name,
        axis="compute",
        strength=0.9,
        evidence=(Evidence(metric=m.TENSOR_PIPE, value=active, threshold=TENSOR_IDLE, unit="%"),),
        advice=(
            f"The task is matrix-like in {cost.math}, yet the tensor cores are {active:.0f} % "
            "active. Compute the product with mma (wmma or mma.sync; wgmma on Hopper) on tiles "
            "staged in shared memory, accumulating in fp32."
        ),
        methods=("compute.tensor_cores", "memory.shared_tiling"),
    )


FMA_SHARE_TOOL = Tool(name="fma_share", level="kernel", affinity=_COMPUTING, judge=fma_share)
UNFUSED = Tool(
    name="unfused_arithmetic",
    level="kernel",
    affinity=frozenset({"compute", "mixed"}),
    judge=unfused,
)
SPECIAL_FUNCTIONS = Tool(
    name="special_functions", level="kernel", affinity=_COMPUTING, judge=special_functions
)
DIVERGENCE = Tool(name="divergence", level="kernel", affinity=_COMPUTING, judge=divergence)
TENSOR_CORES = Tool(name="tensor_cores", level="kernel", affinity=_COMPUTING, judge=tensor_cores)
