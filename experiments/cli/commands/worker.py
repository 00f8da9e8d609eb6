"""`worker`: judges on this machine's GPU what others put into a folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from experiments.farm.bench import UnfitMachine
from experiments.farm.folder import JobFolder
from experiments.farm.jobs import Terms
from experiments.farm.serve import serve
from experiments.runs.machines.machine import gpu_problem
from experiments.runs.wiring import composing
from mcts.domain import KernelTask
from mcts.errors import InputError
from mcts.options import JudgingOptions
from mcts.ports import Evaluator
from mcts.requests import EvaluatorRequest


def worker(
    folder: Path, judging: JudgingOptions, *, drain: bool = False, parallel: int = 1, seed: int = 0
) -> int:
    """Take jobs from `folder` until told to stop; the exit code: 0, or 2 where the GPU broke.

    With a recording they are answered from it instead of a GPU, with draws of `seed`. If `judging`
    is unsafe, the worker works where nothing isolates candidates, and for a folder that everybody
    can write to.
    A task that this machine cannot judge is left to other workers. InputError where there is no
    GPU, the recording cannot be read, or the folder is not to be used.
    """
    recording, device = judging.recording, judging.device
    check(device=device, recording=recording)
    name = composing.GPU if recording is None else composing.REPLAY

    def build(task: KernelTask, terms: Terms, on_progress: Callable[[str], None]) -> Evaluator:
        if recording is None and (
            problem := machine_problem(task, device=device, unsafe=judging.unsafe)
        ):
            raise UnfitMachine(problem)
        of_the_job = {
            "evaluator": name,
            "baseline": "compile" if terms.compiled else "eager",
            "ungated": terms.ungated,
        }
        request = EvaluatorRequest(
            task=task,
            judging=judging.model_copy(update=of_the_job),
            seed=seed,
            on_progress=on_progress,
        )
        try:
            return composing.build_evaluator(request)
        except InputError as error:
            if recording is None:
                raise
            # A recording is this worker's, and so is what is wrong with it.
            raise UnfitMachine(str(error)) from error

    return serve(
        JobFolder(folder, unsafe=judging.unsafe, on_broken=_say),
        evaluator_factory=build,
        drain=drain,
        device=device,
        parallel=parallel,
        say=_say,
    )


def check(*, device: int, recording: Path | None) -> None:
    """InputError where this machine can answer no job at all."""
    if recording is not None:
        from profilers.recordings.t4 import load_recording

        load_recording(recording)
    # Without our own compiler, PyTorch candidates can still be judged.
    elif (problem := gpu_problem(device)) and gpu_problem(device, torch=True):
        raise InputError(f"no job can be measured here: {problem}")


def machine_problem(task: KernelTask, *, device: int, unsafe: bool) -> str | None:
    """Why no candidate of `task` can be measured on this machine; None where it can.

    WorldError where isolation cannot be tried out.
    """
    if not task.dialect.has_source:
        return "it is a recording without source, which needs a worker with --recording"
    torch = task.dialect.in_pytorch
    if (problem := gpu_problem(device, torch=torch)) or not torch or unsafe:
        return problem
    from profilers.children.processes import probe_isolation

    isolation = probe_isolation()
    if isolation.level != "process":
        return None
    lacking = "; ".join(f"{part}: {why}" for part, why in isolation.missing.items())
    return f"nothing here would isolate a candidate ({lacking}), and --unsafe was not given"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
