"""Triggers of tools about arithmetic: what is issued, for how many lanes, on which pipe."""

from __future__ import annotations

from mcts.domain import Work
from mcts.domain import metrics as m
from tests.microtools.contexts import MATMUL, STREAM, between, loop, make_context, stalls
from tests.microtools.triggers import Trigger

HALF = Work(bytes=MATMUL.bytes // 2, flops=MATMUL.flops, math="bf16")
DOUBLE = Work(bytes=MATMUL.bytes, flops=MATMUL.flops, math="fp64")
INTEGER = Work(bytes=MATMUL.bytes, flops=MATMUL.flops, math="int32")
DIVIDING = {"special_ops": 3, "conversion_ops": 6, "integer_ops": 63}
MODULO = {**DIVIDING, "mix": {"integer": 53, "memory": 4, "conversion": 4, "special": 2}}


def _converting(part: float) -> dict[str, dict[str, float]]:
    count = round(between(14, 60, part))
    return {"mix": {"conversion": count, "fp32": 100 - count}, "conversion_ops": count}


def _wgmma(serial: int, of: int = 24) -> dict[str, int]:
    return {"tensor_ops": of, "wgmma_ops": of, "serial_wgmma_ops": serial, "bulk_copies": 2}


def _fenced(fences: int, mix: dict[str, int]) -> dict[str, object]:
    """A loop with fences, and one that issues the products if that does not."""
    other = () if "tensor" in mix else (loop(line=9, mix={"tensor": 4}),)
    return {"loops": (loop(line=5, mix=mix, wide_fences=fences), *other), "wide_fences": fences}


def _mix(integer: int, **more: int) -> dict[str, object]:
    return {"mix": {"integer": integer, **more}, "integer_ops": integer, "fma_ops": 10}


TRIGGERS: dict[str, Trigger] = {
    "fma_share": Trigger(
        firing=lambda part: make_context(
            {m.FFMA: 32 * between(480, 50, part), m.INSTRUCTIONS: 1000, m.FMA_PIPE: 20}
        ),
        silent=[
            make_context({m.FFMA: 32 * 910, m.INSTRUCTIONS: 1000}),
            make_context({m.FFMA: 32 * 100, m.INSTRUCTIONS: 1000}, work=STREAM),
            make_context({m.FFMA: 32 * 100, m.INSTRUCTIONS: 1000}, work=HALF),
            make_context({m.FFMA: 32 * 100, m.FADD: 32 * 600, m.FMUL: 0, m.INSTRUCTIONS: 1000}),
            make_context({m.FFMA: 32 * 100, m.INSTRUCTIONS: 1000}, work=None),
        ],
        needs=(m.FFMA, m.INSTRUCTIONS),
    ),
    "unfused_arithmetic": Trigger(
        firing=lambda part: make_context(
            {m.FFMA: between(60, 1, part), m.FADD: 50, m.FMUL: 50, m.FMA_PIPE: 70}
        ),
        silent=[
            make_context({m.FFMA: 400, m.FADD: 50, m.FMUL: 50, m.FMA_PIPE: 70}),
            make_context({m.FFMA: 1, m.FADD: 50, m.FMUL: 50, m.FMA_PIPE: 10, m.ISSUE: 0.3}),
            make_context({m.FFMA: 0, m.FADD: 50, m.FMUL: 0, m.FMA_PIPE: 70}),  # a sum
        ],
        needs=(m.FFMA, m.FADD, m.FMUL),
    ),
    "special_functions": Trigger(
        firing=lambda part: make_context({m.XU_PIPE: between(61, 98, part), m.FMA_PIPE: 20}),
        silent=[
            make_context({m.XU_PIPE: 20, m.FMA_PIPE: 20, m.DRAM: 84}),
            make_context(
                {m.XU_PIPE: 45, m.FMA_PIPE: 85}
            ),  # n-body: the multiply-adds are the limit
            make_context({m.XU_PIPE: 70}, sass={"special_ops": 1, "conversion_ops": 30}),
        ],
        needs=(m.XU_PIPE,),
    ),
    "divergence": Trigger(
        firing=lambda part: make_context(
            {m.THREADS_PER_INSTRUCTION: between(23, 2, part), m.ISSUE: 0.6}
        ),
        silent=[
            make_context({m.THREADS_PER_INSTRUCTION: 31}),
            make_context({m.THREADS_PER_INSTRUCTION: 12, m.DRAM: 88}),
        ],
        needs=(m.THREADS_PER_INSTRUCTION,),
    ),
    "predication": Trigger(
        firing=lambda part: make_context(
            {m.THREADS_PER_INSTRUCTION: 32, m.ACTIVE_THREADS_PER_INSTRUCTION: between(23, 6, part)}
            | {m.ISSUE: 0.7}
        ),
        silent=[
            make_context({m.THREADS_PER_INSTRUCTION: 32, m.ACTIVE_THREADS_PER_INSTRUCTION: 29.5}),
            make_context({m.THREADS_PER_INSTRUCTION: 9, m.ACTIVE_THREADS_PER_INSTRUCTION: 8.5}),
            make_context(
                {m.THREADS_PER_INSTRUCTION: 32, m.ACTIVE_THREADS_PER_INSTRUCTION: 20, m.ISSUE: 0.1}
            ),
        ],
        needs=(m.THREADS_PER_INSTRUCTION, m.ACTIVE_THREADS_PER_INSTRUCTION),
    ),
    "tensor_cores": Trigger(
        firing=lambda part: make_context(
            {m.TENSOR_PIPE: 0},
            work=Work(bytes=1000, flops=round(between(17_000, 90_000, part)), math="bf16"),
        ),
        silent=[
            make_context({m.TENSOR_PIPE: 60}, work=HALF),
            make_context({m.TENSOR_PIPE: 0}),  # fp32 has no tensor cores
            make_context({m.TENSOR_PIPE: 0}, work=Work(bytes=1000, flops=4000, math="fp16")),
            make_context(sass={"tensor_ops": 16}, work=HALF),
            make_context({m.TENSOR_PIPE: 0}, work=None),
        ],
        needs=(m.TENSOR_PIPE,),
    ),
    "serialised_wgmma": Trigger(
        firing=lambda part: make_context(
            {m.TENSOR_PIPE: between(62, 30, part)} | stalls(gmma=0.4),
            sass=_wgmma(round(between(12, 24, part))),
            work=HALF,
        ),
        silent=[
            make_context({m.TENSOR_PIPE: 60} | stalls(gmma=0.45), sass=_wgmma(0), work=HALF),
            make_context(
                {m.TENSOR_PIPE: 55}, sass=_wgmma(6), work=HALF
            ),  # groups of four, no overlap
            make_context({m.TENSOR_PIPE: 40}, sass=_wgmma(1, of=1), work=HALF),
            make_context({m.TENSOR_PIPE: 84}, sass=_wgmma(24), work=HALF),
            make_context({m.TENSOR_PIPE: 20, m.DRAM: 85}, sass=_wgmma(24), work=HALF),
            make_context(
                {m.TENSOR_PIPE: 40}, sass={"tensor_ops": 24}, work=HALF
            ),  # of another kind
        ],
    ),
    "fences_in_pipeline": Trigger(
        firing=lambda part: make_context(
            {m.TENSOR_PIPE: between(70, 30, part)},
            sass={**_wgmma(0), **_fenced(2, mix={"tensor": 4})},
            work=HALF,
        ),
        silent=[
            make_context({m.TENSOR_PIPE: 40}, sass=_wgmma(0), work=HALF),
            make_context(
                {m.TENSOR_PIPE: 84}, sass={**_wgmma(0), **_fenced(2, mix={"tensor": 4})}, work=HALF
            ),
            make_context(
                {m.DRAM: 88}, sass={**_wgmma(0), **_fenced(2, mix={"tensor": 4})}, work=HALF
            ),
            make_context(
                {m.TENSOR_PIPE: 40}, sass={**_wgmma(0), **_fenced(2, mix={"integer": 4})}, work=HALF
            ),  # the loop that waits for other blocks, not the one that multiplies
            make_context(sass={**_fenced(1, mix={"integer": 4})}),  # no pipeline of bulk copies
        ],
    ),
    "stray_doubles": Trigger(
        firing=lambda part: make_context({m.FP64_PIPE: between(6, 60, part)}),
        silent=[
            make_context({m.FP64_PIPE: 0}),
            make_context({m.FP64_PIPE: 80}, work=DOUBLE),
            make_context({m.FP64_PIPE: 12, m.DRAM: 90}),
            make_context({m.FP64_PIPE: 80}, work=None),
            make_context({m.FP64_PIPE: 80}, sass={"double_ops": 60}, work=None),
            # data in double, whose division holds a little of single
            make_context(
                sass={"double_ops": 60, "fma_ops": 1, "global_loads": {"64": 1}}, work=None
            ),
            make_context(sass={"double_ops": 2, "fma_ops": 38}),  # the slow path of sinf
        ],
        needs=(m.FP64_PIPE,),
    ),
    "integer_arithmetic": Trigger(
        firing=lambda part: make_context(
            {m.ALU_PIPE: between(51, 95, part), m.FMA_PIPE: 30, m.ISSUE: 0.7},
            sass=_mix(45, fp32=45, memory=10),
        ),
        silent=[
            make_context({m.ALU_PIPE: 20, m.FMA_PIPE: 70, m.ISSUE: 0.8}, sass=_mix(20, fp32=60)),
            make_context({m.ALU_PIPE: 80, m.ISSUE: 0.9}, sass=_mix(80), work=INTEGER),
            make_context({m.ALU_PIPE: 80, m.ISSUE: 0.9}, sass={"mix": {"integer": 80}}, work=None),
            make_context({m.ALU_PIPE: 60, m.ISSUE: 0.7, m.DRAM: 88}, sass=_mix(80)),
            make_context({m.ISSUE: 0.15}, sass=_mix(80, memory=10)),  # a copy: it waits for memory
            make_context(
                {m.ALU_PIPE: 70, m.ISSUE: 0.7}, sass=_mix(10, fp32=90)
            ),  # compares, minima
        ],
    ),
    "conversions": Trigger(
        firing=lambda part: make_context({m.XU_PIPE: 70}, sass=_converting(part)),
        silent=[
            make_context({m.XU_PIPE: 70}, sass={"mix": {"conversion": 4, "fp32": 96}}),
            make_context({m.XU_PIPE: 10, m.ISSUE: 0.3}, sass=_converting(1)),
            make_context({m.XU_PIPE: 70, m.DRAM: 88}, sass=_converting(1)),
            make_context({m.XU_PIPE: 70, m.ISSUE: 0.8}, sass=MODULO),
            make_context({m.XU_PIPE: 70}),
        ],
    ),
    "rolled_loops": Trigger(
        firing=lambda part: make_context(
            {m.ISSUE: 0.4},
            sass={
                "loops": (
                    loop(
                        line=5,
                        global_loads=1,
                        mix={"integer": round(between(7, 16, part)), "memory": 1, "fp32": 9},
                    ),
                )
            },
        ),
        silent=[
            make_context(
                {m.ISSUE: 0.4},
                sass={"loops": (loop(line=5, unrolled=4, mix={"integer": 8, "memory": 4}),)},
            ),
            make_context(  # the rest of an unrolled loop
                {m.ISSUE: 0.4},
                sass={
                    "loops": (
                        loop(line=5, unrolled=4, instructions=60, mix={"fp32": 50, "integer": 4}),
                        loop(line=5, mix={"integer": 8, "memory": 1}),
                    )
                },
            ),
            make_context(
                {m.ISSUE: 0.4}, sass={"loops": (loop(instructions=300, mix={"fp32": 300}),)}
            ),
            make_context(
                {m.DRAM: 88}, sass={"loops": (loop(line=5, mix={"integer": 8, "memory": 1}),)}
            ),
            make_context({m.ISSUE: 0.4}, sass={"loops": (loop(line=5, mix={"fp32": 18}),)}),
            make_context(  # a counter and an address beside as much work as it takes
                {m.ISSUE: 0.4},
                sass={"loops": (loop(line=5, mix={"integer": 6, "memory": 1, "fp32": 9}),)},
            ),
        ],
    ),
}
