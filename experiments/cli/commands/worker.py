"""`worker`: evaluate on this machine's GPU the candidates that others put into a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from experiments.app.messages import say
from experiments.farm.bench import UnfitMachine
from experiments.farm.folder import JobFolder
from experiments.farm.jobs import Terms
from experiments.farm.serve import serve
from experiments.runs.machines.machine import gpu_problem
from experiments.runs.wiring import composing
from experiments.runs.wiring.choosing import GPU, REPLAY
from experiments.runs.wiring.remote import machine_problem
from mcts.domain import KernelTask
from mcts.errors import InputError
from mcts.options import JudgingOptions
from mcts.ports import Evaluator
from mcts.requests import EvaluatorRequest


def worker(
    folder: Path, judging: JudgingOptions, *, drain: bool = False, parallel: int = 1, seed: int = 0
) -> int:
    """Take jobs from `folder` until told to stop; returns the exit code: 0, or 2 if the GPU broke.

    With a recording jobs are answered from it instead of a GPU, with `seed` for its draws. If
    `judging` is unsafe, the worker also serves on a machine where nothing isolates candidates, and
    a folder that everybody can write to. A task that this machine cannot judge is left to other
    workers. InputError if there is no GPU, or if the recording or the folder cannot be used.
    """
    check(device=judging.device, recording=judging.recording)

    def build(task: KernelTask, terms: Terms, on_progress: Callable[[str], None]) -> Evaluator:
        return _evaluator(task, terms, judging=judging, seed=seed, on_progress=on_progress)

    return serve(
        JobFolder(folder, unsafe=judging.unsafe, on_broken=say),
        evaluator_factory=build,
        drain=drain,
        device=judging.device,
        parallel=parallel,
        say=say,
    )


def _evaluator(
    task: KernelTask,
    terms: Terms,
    *,
    judging: JudgingOptions,
    seed: int,
    on_progress: Callable[[str], None],
) -> Evaluator:
    """The evaluator for jobs of `task` under `terms`.

    Raises UnfitMachine if other workers may judge the task but this one cannot, InputError if the
    task itself is at fault.
    """
    replays = judging.recording is not None
    if not replays and (
        problem := machine_problem(task, device=judging.device, unsafe=judging.unsafe)
    ):
        raise UnfitMachine(problem)
    job_options = {
        "evaluator": REPLAY if replays else GPU,
        "baseline": "compile" if terms.compiled else "eager",
        "ungated": terms.ungated,
    }
    request = EvaluatorRequest(
        task=task,
        judging=judging.model_copy(update=job_options),
        seed=seed,
        on_progress=on_progress,
    )
    try:
        return composing.build_evaluator(request)
    except InputError as error:
        if not replays:
            raise
        raise UnfitMachine(str(error)) from error  # the recording is this worker's own


def check(*, device: int, recording: Path | None) -> None:
    """Raise InputError if this machine cannot answer any job."""
    if recording is not None:
        from profilers.recordings.t4 import load_recording

        load_recording(recording)
    # Without our own compiler, PyTorch candidates can still be judged.
    elif (problem := gpu_problem(device)) and gpu_problem(device, torch=True):
        raise InputError(f"no job can be measured here: {problem}")
