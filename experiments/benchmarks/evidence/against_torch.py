"""How fast are the best recorded variants?

    python -m experiments.benchmarks.evidence.against_torch [TASK...]

Times the best recorded variant of each bundled task with our evaluator, and in the same run the
task in eager PyTorch (`torch_operators.py`), which is one operator where PyTorch has one and an
unfused sequence otherwise, the same through `torch.compile`, and a device-to-device copy of the
same bytes. Tasks of little arithmetic are given as a share of that copy's bandwidth. TF32 is off.
Where there is a stronger public kernel, and it can be had here, the fastest of them stands beside
(`public_kernels.py`); why one cannot is said on standard error.

PyTorch runs in this process and is timed as the evaluator does: CUDA events around one call, L2
flushed before each by reading a buffer several times its size, medians. Ratios are those of medians
with a 95 % interval by bootstrap; what varies between processes is not in it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from experiments.benchmarks.evidence.public_kernels import PUBLIC
from experiments.benchmarks.evidence.torch_operators import CALLED, operators
from experiments.runs.tasks.files import TaskSource, find_task
from experiments.runs.wiring.parts import gpu_evaluator
from mcts.domain import Candidate, Evaluation, evaluate_int
from mcts.errors import InputError, RooftreeError
from mcts.options import JudgingOptions
from mcts.requests import EvaluatorRequest
from mcts.statistics import Interval, speedup_unpaired
from mcts.text import first_line
from profilers.cuda.drawing import draw
from profilers.recordings.t4 import load_recording

REPEATS = 30
FLUSH_BYTES = 512 * 2**20
MUCH_ARITHMETIC = 50
"""From so many operations per byte on, the share of a copy's bandwidth says nothing."""
SEED = 7
COLUMNS = (
    "task", "naive, us", "best, us", "naive / best", "in PyTorch", "eager, us", "eager / best",
    "torch.compile, us", "torch.compile / best", "public kernel", "its us", "it / best", "rate",
    "share",
)  # fmt: skip


def torch_with_gpu() -> Any:
    """PyTorch, with TF32 off. InputError if there is none, or if it sees no GPU."""
    try:
        import torch
    except ImportError:
        raise InputError("this comparison needs PyTorch with CUDA: pip install torch") from None
    if not torch.cuda.is_available():
        raise InputError("PyTorch sees no GPU here")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    return torch


def as_tensor(torch: Any, stored: Any, dtype: str, *, device: str) -> Any:
    """An input in its stored form (bfloat16 as its 16 bits) as a tensor."""
    tensor = torch.from_numpy(stored)
    if dtype == "bfloat16":
        tensor = tensor.view(torch.bfloat16)
    return tensor.to(device)


def times_us(torch: Any, call: Callable[[], Any]) -> list[float]:
    """The times of a call in microseconds, after three calls to warm up."""
    flush = torch.ones(FLUSH_BYTES // 4, device="cuda")
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(REPEATS)]
    for _ in range(3):
        call()
    for begin, end in events:
        flush.sum()
        begin.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return [float(begin.elapsed_time(end)) * 1e3 for begin, end in events]


def _best(source: TaskSource, device: int) -> Evaluation:
    """The best recorded variant, measured live. InputError if there is none or it fails here."""
    if not source.recordings:
        raise InputError(f"task {source.task.name!r} has no recording to take its best from")
    best = load_recording(source.recordings[-1]).summary().best
    if best is None:
        raise InputError(f"the recording of {source.task.name!r} holds no valid variant")
    request = EvaluatorRequest(task=source.task, judging=JudgingOptions(device=device))
    with closing(gpu_evaluator(request)) as judge:
        evaluation = judge.evaluate(
            Candidate(source=source.task.baseline.source, tunables=dict(best))
        )
    if not evaluation.measured:
        raise InputError(f"the best variant of {source.task.name} fails here: {evaluation.message}")
    return evaluation


def _row(torch: Any, source: TaskSource, device: int) -> str:
    """A task's row of the table. InputError if the task states no cost."""
    task = source.task
    shape = task.timed_workload.shape
    evaluation = _best(source, device)
    timing = evaluation.timing
    if timing is None or task.cost is None:
        raise InputError(f"task {task.name!r} states no cost to compare with")
    generator = np.random.default_rng(SEED)
    inputs = [
        as_tensor(torch, draw(buffer, shape, generator), buffer.dtype, device="cuda")
        for buffer in task.inputs
    ]
    call = operators(torch)[task.name](inputs)
    torch_us = times_us(torch, call)
    compiled_us = _compiled_us(torch, call)
    public, public_us = fastest_public(torch, task.name, inputs, call())
    moved = evaluate_int(task.cost.bytes, shape)
    source_buffer = torch.rand(moved // 8, device="cuda")
    target = torch.empty_like(source_buffer)
    copy_us = statistics.median(times_us(torch, lambda: target.copy_(source_buffer)))
    flops = evaluate_int(task.cost.flops, shape)
    rate = f"{moved / timing.median_us / 1e3:.0f} GB/s"
    share = f"{copy_us / timing.median_us:.1%} of a copy ({moved / copy_us / 1e3:.0f} GB/s)"
    if flops > MUCH_ARITHMETIC * moved:
        rate, share = f"{flops / timing.median_us / 1e6:.1f} TFLOP/s", ""
    cells = (
        task.name,
        f"{timing.baseline_us:.1f}",
        f"{timing.median_us:.1f}",
        ratio_text(Interval(timing.speedup_low, timing.speedup, timing.speedup_high)),
        CALLED[task.name],
        *rival_cells(torch_us, timing.heaviest.samples_us),
        *rival_cells(compiled_us, timing.heaviest.samples_us),
        public,
        *rival_cells(public_us, timing.heaviest.samples_us),
        rate,
        share,
    )
    return f"| {' | '.join(cells)} |"


def _compiled_us(torch: Any, call: Callable[[], Any]) -> list[float]:
    """The times of the call through torch.compile; empty if it cannot be compiled.

    What was compiled before is forgotten: the calls of all tasks share their code, which is
    compiled for a few shapes at most, then for any shape, then no longer.
    """
    torch.compiler.reset()
    try:
        return times_us(torch, torch.compile(call, dynamic=False))
    except Exception as error:  # noqa: BLE001 - whatever the compiler fails with
        print(f"torch.compile: {first_line(error)}", file=sys.stderr)
        return []


def fastest_public(
    torch: Any, task: str, inputs: Sequence[Any], expected: Any
) -> tuple[str, list[float]]:
    """The fastest public kernel that can be had here, with its times; one that is wrong is none."""
    found: dict[str, list[float]] = {}
    for name, rival in PUBLIC.get(task, {}).items():
        try:
            call = rival(torch, inputs)
            if not agrees(call(), expected):
                raise InputError("its result is not PyTorch's")
            found[name] = times_us(torch, call)
        except (InputError, RuntimeError) as error:
            print(f"{task}, {name}: {first_line(error)}", file=sys.stderr)
    if not found:
        return "n/a" if task in PUBLIC else "none known", []
    return min(found.items(), key=lambda item: statistics.median(item[1]))


def agrees(result: Any, expected: Any) -> bool:
    """Whether two tensors are equal, but for rounding to eight bits if one holds real numbers."""
    if result.shape != expected.shape:
        return False
    if not (result.is_floating_point() or expected.is_floating_point()):
        return bool((result == expected).all())
    difference = (result.double() - expected.double()).abs()
    return bool(difference.max() <= 2**-7 * expected.double().abs().max())


def rival_cells(rival_us: Sequence[float], ours_us: Sequence[float]) -> tuple[str, str]:
    """A rival's median time, and the ratio of it to ours; ``n/a`` without times."""
    if not rival_us:
        return "n/a", "n/a"
    ratio = speedup_unpaired(rival_us, ours_us, SEED)
    return f"{statistics.median(rival_us):.1f}", ratio_text(ratio)


def ratio_text(ratio: Interval) -> str:
    """``1.63 (1.62 to 1.64)``"""
    return f"{ratio.point:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.benchmarks.evidence.against_torch")
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--device", type=int, default=0)
    options = parser.parse_args()
    try:
        torch = torch_with_gpu()
        known = operators(torch)
        print(f"| {' | '.join(COLUMNS)} |")
        print(f"|{' --- |' * len(COLUMNS)}")
        for name in options.tasks or known:
            if name not in known:
                raise InputError(f"no PyTorch operator for {name!r}; known: {', '.join(known)}")
            print(_row(torch, find_task(name), options.device), flush=True)
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
