"""What the profile of a `cuda` candidate takes, on a GPU, and how much of it is starting up.

    python -m tests.benchmarks.bench_profile [TASK...] [--times N] [--pause S] [--device N]

Prints the median seconds of N profiles of each task's baseline: one right behind the other; each
after a pause, in which the profiler was started ahead, as in a search; what one more in the same
profiler adds; and the share of the first that is therefore start and end. Of a call of several
launches the timeline's process counts as well. Before that, what the profiler takes for a program
without a GPU, and what the profiled process takes to be imported.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing

from experiments.runs.tasks.files import find_task
from experiments.runs.wiring.composing import choose_evaluator
from mcts.errors import RooftreeError
from mcts.options import JudgingOptions
from profilers import ncu
from profilers.compiling.toolchain import find_tool

TASKS = ("gelu", "gemm_bf16", "histogram", "prefix_sum")
MORE = 3
"""Further profiles in the same profiler."""


def median_s(act: Callable[[], object], times: int, *, pause_s: float = 0.0) -> float:
    """The median time of `act` in seconds, each after a pause."""
    seconds = []
    for _ in range(times):
        time.sleep(pause_s)
        begin = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def _command(*words: str) -> Callable[[], object]:
    return lambda: subprocess.run(words, check=False, capture_output=True)


def _profiles(task: str, times: int, pause_s: float, device: int) -> None:
    source = find_task(task)
    judging = JudgingOptions(evaluator="gpu", device=device)
    with closing(choose_evaluator(source, judging, on_progress=lambda _: None)) as gpu:
        baseline = source.task.baseline
        (first,) = gpu.profile_many([baseline])  # compiles, and measures the device's ceilings
        if not any(kernel.metrics for kernel in first.kernels):
            print(f"{task:18} no counters: {'; '.join(first.missing.values())}")
            return
        one = median_s(lambda: gpu.profile_many([baseline]), times)
        ahead = median_s(lambda: gpu.profile_many([baseline]), times, pause_s=pause_s)
        several = median_s(lambda: gpu.profile_many([baseline] * (1 + MORE)), times)
    more = (several - one) / MORE
    print(f"{task:18} {one:6.2f} {ahead:6.2f} {more:6.2f} {1 - more / one:6.0%}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bench_profile")
    parser.add_argument("tasks", nargs="*", default=TASKS, metavar="TASK")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--pause", type=float, default=3.0, metavar="S")
    parser.add_argument("--device", type=int, default=0)
    options = parser.parse_args(arguments)
    imported = _command(sys.executable, "-c", "import profilers.launching.ncu_target")
    print(f"importing the profiled process {median_s(imported, options.times):.2f} s")
    tool = find_tool(ncu.TOOL)
    if tool is not None:
        alone = median_s(_command(str(tool), "true"), options.times)
        print(f"{ncu.TOOL} around a program without a GPU {alone:.2f} s")
    print(f"{'task':18} {'one, s':>6} {'ahead':>6} {'more':>6} {'start':>6}")
    try:
        for task in options.tasks:
            _profiles(task, options.times, options.pause, options.device)
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
