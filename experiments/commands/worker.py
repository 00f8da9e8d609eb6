"""`worker`: judges on this machine's GPU what others put into a folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from experiments import wiring
from experiments.farm.folder import JobFolder
from experiments.farm.jobs import Terms
from experiments.farm.serve import serve
from experiments.machine import gpu_problem
from experiments.parts import EvaluatorRequest
from mcts.domain import KernelTask
from mcts.errors import InputError
from mcts.ports import Evaluator


def worker(
    folder: Path,
    *,
    drain: bool = False,
    device: int = 0,
    parallel: int = 1,
    recording: Path | None = None,
    seed: int = 0,
    unsafe: bool = False,
) -> int:
    """Take jobs from `folder` until told to stop; the exit code: 0, or 2 where the GPU broke.

    With `recording` they are answered from it instead of a GPU, with draws of `seed`. `unsafe`
    works where nothing isolates candidates, and for a folder that everybody can write to.
    InputError where there is no GPU or the folder is not to be used.
    """
    # Without our own compiler, PyTorch candidates can still be judged.
    problem = gpu_problem(device) and gpu_problem(device, torch=True)
    if recording is None and problem:
        raise InputError(f"no job can be measured here: {gpu_problem(device)}")
    name = wiring.GPU if recording is None else wiring.REPLAY

    def build(task: KernelTask, terms: Terms, on_progress: Callable[[str], None]) -> Evaluator:
        request = EvaluatorRequest(
            task=task,
            recording=recording,
            seed=seed,
            device=device,
            compiled=terms.compiled,
            ungated=terms.ungated,
            unsafe=unsafe,
            on_progress=on_progress,
        )
        return wiring.build_evaluator(name, request)

    return serve(
        JobFolder(folder, unsafe=unsafe, on_broken=_say),
        evaluator_factory=build,
        drain=drain,
        device=device,
        parallel=parallel,
        say=_say,
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
