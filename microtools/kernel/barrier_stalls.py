"""Warps wait for each other at block barriers."""

from __future__ import annotations

from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext
from microtools.stalls import Remedy, Stall

LARGE_BLOCK = 512


def _remedy(context: KernelContext) -> Remedy:
    advice = "waiting at __syncthreads"
    methods = ["latency.fewer_barriers", "compute.warp_primitives"]
    shuffles = context.sass.shuffles if context.sass else 0
    if not shuffles:
        advice += ". Reduce inside a warp with __shfl_xor_sync and cross warps once; let"
    else:
        advice += ". Let"
    advice += " a warp own a row so that no block barrier is needed"
    block = context.value(m.BLOCK)
    if block is not None and block >= LARGE_BLOCK:
        advice += f"; blocks of {block:.0f} threads wait for the slowest of {block / 32:.0f} warps"
        advice += ", so use smaller ones"
        methods.append("latency.block_size")
    if context.stages_tiles:
        advice += "; double-buffer the tile so that one barrier per step suffices"
        methods.append("latency.double_buffering")
    advice += "; drop barriers that order nothing"
    return Remedy(advice, tuple(methods), context.lines("barriers"))


TOOL = Stall(
    tool="barrier_stalls",
    reasons=(m.STALL_BARRIER,),
    axis="latency",
    threshold=0.20,
    remedy=_remedy,
).as_tool(
    order=210,
    symptom_of=frozenset(
        {"atomic_contention", "bank_conflicts", "coalescing", "global_latency", "register_spills"}
    ),
)
