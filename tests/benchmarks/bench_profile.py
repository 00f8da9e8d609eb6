"""What the profile of a `cuda` candidate takes, on a GPU, and how much of it is starting up.

    python -m tests.benchmarks.bench_profile [TASK...] [--times N] [--pause S] [--device N]

Prints the median seconds of N profiles of each task's baseline: one right behind the other; each
after a pause, in which the profiler was started ahead, as in a search; what one more in the same
profiler adds; and the share of the first that is therefore start and end. Of a call of several
launches the timeline's process counts as well. Before that, what a process takes that imports what
is profiled, initialises the driver and makes a context, each on top of what stands before it, by
itself and under the profiler: how far would a start ahead have to go?
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
STEPS = {
    "nothing": "",
    "imports": "import profilers.launching.ncu_target as target; ",
    "driver": "target.driver.initialise(); ",
    "context": "context = target.driver.Context({device}); ",
}
"""What a profiled process does before it launches anything."""


def median_s(act: Callable[[], object], times: int, *, pause_s: float = 0.0) -> float:
    """The median time of `act` in seconds, each after a pause."""
    seconds = []
    for _ in range(times):
        time.sleep(pause_s)
        begin = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def _starts(times: int, device: int) -> None:
    """What each step of a process's start takes, by itself and under the profiler."""
    tool = find_tool(ncu.TOOL)
    print(f"{'a process with':18} {'s':>6} {'ncu':>6}")
    code = ""
    for step, more in STEPS.items():
        code += more.format(device=device)
        command = (sys.executable, "-c", code)
        profiled = "n/a" if tool is None else _process_s([str(tool), *command], times)
        print(f"{step:18} {_process_s(command, times):>6} {profiled:>6}")


def _process_s(command: Sequence[str], times: int) -> str:
    """The median seconds of a process; "n/a" if it fails, as without a GPU."""
    ended = []

    def run() -> None:
        ended.append(subprocess.run(command, check=False, capture_output=True).returncode)

    seconds = median_s(run, times)
    return "n/a" if any(ended) else f"{seconds:.2f}"


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
    _starts(options.times, options.device)
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
