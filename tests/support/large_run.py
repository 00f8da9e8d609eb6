"""Runs as results alone, of any size, for what reads results: nothing is searched or measured."""

from __future__ import annotations

import random
from dataclasses import dataclass
from decimal import Decimal

from mcts.domain import (
    AxisGap,
    Candidate,
    Evaluation,
    Evidence,
    Finding,
    Guidance,
    Roofline,
    Timing,
    Verification,
)
from mcts.journal.record import NodeKind, NodeRecord, Result
from mcts.journal.spending import Spending

METHODS = tuple(
    f"{axis}.{name}"
    for axis in ("memory", "compute", "latency")
    for name in ("vectorized_loads", "tiling", "unrolling", "prefetch")
)
_BODY = "\n".join(f"    acc += x[i + {at}] * w[{at}];" for at in range(40))
_FAILED = ("compile_failed", "wrong_result", "runtime_error", "timed_out")


@dataclass(frozen=True, slots=True)
class _Parent:
    id: int
    speedup: float


def large_result(nodes: int, *, seed: int = 1, sources: int = 400) -> Result:
    """A tree of so many nodes with failures and duplicates, in which lines get faster."""
    rng = random.Random(seed)
    records = [_measured(0, None, 1.0, rng, sources)]
    open_ = [_Parent(0, 1.0)]
    for id in range(1, nodes):
        parent = max(rng.sample(open_, min(4, len(open_))), key=lambda each: each.speedup)
        roll = rng.random()
        if roll < 0.15:
            records.append(_failed(id, parent.id, rng))
        elif roll < 0.2 and parent.id:
            records.append(_duplicate(id, parent.id, records[parent.id]))
        else:
            speedup = parent.speedup * rng.uniform(0.85, 1.0 + 0.6 / (1 + parent.speedup))
            records.append(_measured(id, parent.id, speedup, rng, sources))
            open_.append(_Parent(id, speedup))
    return Result(
        nodes=tuple(records),
        stop_reason="evaluations spent",
        evaluations=nodes - 1,
        unique=nodes - 1,
        failed=sum(record.speedup is None for record in records),
        seconds=60.0 * nodes,
        tree_digest="tree-synthetic",
        spending=sum((record.spending for record in records), Spending()),
    )


def _measured(
    id: int, parent: int | None, speedup: float, rng: random.Random, sources: int
) -> NodeRecord:
    number = rng.randrange(sources)
    candidate = Candidate(
        source=f"// variant {number}\n__global__ void k(float* x) {{\n{_BODY}\n}}\n",
        tunables={"BLOCK": 2 ** rng.randint(5, 10), "UNROLL": rng.choice([1, 2, 4, 8]), "ID": id},
        methods=() if parent is None else tuple(rng.sample(METHODS, 2)),
        rationale=f"Variant {id} changes how rows are read.",
    )
    time_us = 1000.0 / speedup
    timing = Timing(
        median_us=time_us, low_us=time_us * 0.99, high_us=time_us * 1.01, baseline_us=1000.0,
        speedup=speedup, speedup_low=speedup * 0.98, speedup_high=speedup * 1.02, rounds=20,
        samples_us=tuple(round(time_us * rng.uniform(0.98, 1.02), 3) for _ in range(6)),
    )  # fmt: skip
    evaluation = Evaluation(
        candidate_id=candidate.id,
        status="measured",
        verification=Verification(passed=True, rounds=3),
        timing=timing,
    )
    return _record(id, parent, "measured", candidate, evaluation, guidance=_guidance(speedup, rng))


def _failed(id: int, parent: int, rng: random.Random) -> NodeRecord:
    candidate = Candidate(source=f"// broken {id % 97}\n", tunables={"ID": id})
    status = rng.choice(_FAILED)
    message = f"candidate.cu({rng.randrange(200)}): {status.replace('_', ' ')}"
    checked = Verification(passed=False, rounds=1) if status == "wrong_result" else None
    evaluation = Evaluation(
        candidate_id=candidate.id, status=status, message=message, verification=checked
    )
    return _record(id, parent, "failed", candidate, evaluation, reason=message)


def _duplicate(id: int, parent: int, twin: NodeRecord) -> NodeRecord:
    return _record(id, parent, "duplicate", twin.candidate, twin.evaluation, duplicate_of=twin.id)


def _guidance(speedup: float, rng: random.Random) -> Guidance:
    bound = "latency" if speedup < 1.5 else "memory" if speedup < 3 else "compute"
    roofline = Roofline(
        bound=bound,
        confidence=0.8,
        gap=AxisGap(compute=0.5, memory=0.3, latency=0.2),
        near_peak=False,
        method_budget={"compute": 1, "memory": 1, "latency": 1},
        intensity_flop_per_byte=2.0,
        ridge_flop_per_byte=15.0,
        achieved_tflop_per_s=speedup,
        reason="Synthetic.",
    )
    finding = Finding(
        tool=rng.choice(["coalescing", "excess_traffic", "global_latency"]),
        axis="memory",
        strength=rng.random(),
        evidence=(Evidence(metric="lts__t_sectors.sum", value=3.0, threshold=1.0),),
        advice="Load wider.",
        methods=(rng.choice(METHODS),),
        expected_gain=1.2,
    )
    return Guidance(roofline=roofline, findings=(finding,))


def _record(
    id: int,
    parent: int | None,
    kind: NodeKind,
    candidate: Candidate | None,
    evaluation: Evaluation,
    *,
    guidance: Guidance | None = None,
    reason: str = "",
    duplicate_of: int | None = None,
) -> NodeRecord:
    return NodeRecord(
        id=id,
        parent=parent,
        kind=kind,
        candidate=candidate,
        evaluation=evaluation,
        guidance=guidance,
        reward=0.1,
        prior=0.5,
        visits=1,
        value=0.1,
        reason=reason,
        duplicate_of=duplicate_of,
        usage={"model": "synthetic", "prompt": "optimize/3", "cost_usd": 0.01,
               "prompt_tokens": 900, "completion_tokens": 300},
        spending=Spending(cost=Decimal("0.01"), tokens=1200, gpu_s=1.5, replies=1),
    )  # fmt: skip
