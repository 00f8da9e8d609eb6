"""How fast is our attention in its other forms: heads of width 64 and 128, with a mask and without?

    python -m experiments.benchmarks.evidence.attention_forms [--device N]

The kernel of `attention_causal` does for all four, by two of its macros. Each form is a task of its
own here, at 64 heads and 2048 places; all variants with WGMMA are judged as any candidate, and the
fastest stands beside PyTorch's fused attention, measured in the same run as `against_torch` does.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from contextlib import closing
from typing import Any

import numpy as np

from experiments.benchmarks.evidence.against_torch import (
    as_tensor,
    ratio_text,
    rival_cells,
    times_us,
    torch_with_gpu,
)
from experiments.runs.tasks.files import find_task
from experiments.runs.wiring.parts import gpu_evaluator
from mcts.domain import Candidate, Evaluation, KernelTask, declared_space
from mcts.errors import RooftreeError, WorldError
from mcts.options import JudgingOptions
from mcts.requests import EvaluatorRequest
from mcts.statistics import Interval
from profilers.cuda.drawing import draw

WIDTHS = (64, 128)
SEED = 7
COLUMNS = (
    "width", "mask", "naive, us", "ours, us", "naive / ours", "PyTorch, us", "PyTorch / ours",
    "variant",
)  # fmt: skip


def form(width: int, *, causal: bool) -> KernelTask:
    """The task in another form: the bundled one if width is 128 and it is causal."""
    task = find_task("attention_causal").task
    source = _replaced(task.baseline.source, {
        "#define D 128 ": f"#define D {width} ",
        "#define CAUSAL 1 ": f"#define CAUSAL {int(causal)} ",
        'shared = "2 * (128 +': f'shared = "2 * ({width} +',
        'shared = "256 *': f'shared = "{2 * width} *',
    })  # fmt: skip
    plain = find_task("attention").task.reference
    buffers = [
        buffer.model_copy(update={"shape": (*buffer.shape[:2], width)}) for buffer in task.buffers
    ]
    name = f"attention_{width}" + ("_causal" if causal else "")
    baseline = Candidate(source=source, tunables=task.baseline.tunables)
    changed = {
        "name": name, "buffers": tuple(buffers), "baseline": baseline, "cost": None,
        "reference": task.reference if causal else plain,
    }  # fmt: skip
    derived = KernelTask.model_validate({**dict(task), **changed})
    return derived.model_copy(update={"space": declared_space(derived, source)})


def _replaced(text: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def candidates(task: KernelTask) -> list[Candidate]:
    """The variants with WGMMA, and with the hardware's exponential, as the fastest are."""
    shape = task.timed_workload.shape
    return [
        Candidate(source=task.baseline.source, tunables=found)
        for found in task.space.configurations(shape)
        if task.allows(task.space, found) and found["MMA"] == 2 and found["FAST"] == 1
    ]


def _fastest(task: KernelTask, device: int) -> tuple[Candidate, Evaluation]:
    request = EvaluatorRequest(task=task, judging=JudgingOptions(device=device))
    with closing(gpu_evaluator(request)) as judge:
        found = [(one, judge.evaluate(one)) for one in candidates(task)]
    for one, evaluation in found:
        if not evaluation.measured:
            print(f"{task.name} {dict(one.tunables)}: {evaluation.message}", file=sys.stderr)
    measured = [pair for pair in found if pair[1].measured]
    if not measured:
        raise WorldError(f"no variant of {task.name} could be measured")
    return max(measured, key=lambda pair: pair[1].speedup or 0)


def _row(torch: Any, width: int, *, causal: bool, device: int) -> str:
    task = form(width, causal=causal)
    winner, evaluation = _fastest(task, device)
    timing = evaluation.timing
    assert timing is not None, "it was measured"
    generator = np.random.default_rng(SEED)
    q, k, v = (
        as_tensor(
            torch, draw(buffer, task.timed_workload.shape, generator), buffer.dtype, device="cuda"
        )[None]
        for buffer in task.inputs
    )
    fused = torch.nn.functional.scaled_dot_product_attention
    theirs = times_us(torch, lambda: fused(q, k, v, is_causal=causal))
    cells = (
        str(width),
        "causal" if causal else "none",
        f"{timing.baseline_us:.1f}",
        f"{timing.median_us:.1f}",
        ratio_text(Interval(timing.speedup_low, timing.speedup, timing.speedup_high)),
        *rival_cells(theirs, timing.heaviest.samples_us),
        ", ".join(
            f"{name} {winner.tunables[name]}" for name in ("WARPS", "BKV", "STAGES", "TURNS")
        ),
    )
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.evidence.attention_forms"
    )
    parser.add_argument("--device", type=int, default=0)
    options = parser.parse_args()
    try:
        torch = torch_with_gpu()
        print(f"| {' | '.join(COLUMNS)} |")
        print(f"|{' --- |' * len(COLUMNS)}")
        for width, causal in itertools.product(WIDTHS, (False, True)):
            print(_row(torch, width, causal=causal, device=options.device), flush=True)
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
