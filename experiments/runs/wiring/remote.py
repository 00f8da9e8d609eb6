"""The evaluator of a worker that is told what to judge by somebody else."""

from __future__ import annotations

from experiments.cluster.work import UnfitMachine
from experiments.runs.machines.machine import gpu_problem
from experiments.runs.wiring.choosing import GPU, REPLAY
from mcts.domain import KernelTask
from mcts.errors import InputError
from mcts.options import JudgingOptions
from mcts.ports import Evaluator
from mcts.requests import EvaluatorRequest


def worker_evaluator(task: KernelTask, judging: JudgingOptions, seed: int) -> Evaluator:
    """The evaluator of this machine for `task`: its GPU, or the recording that `judging` names.

    Raises UnfitMachine if other workers may judge the task but this one cannot, InputError if the
    task itself is at fault, WorldError if the isolation cannot be probed.
    """
    from experiments.runs.wiring.composing import build_evaluator

    replays = judging.recording is not None
    if not replays and (
        problem := machine_problem(task, device=judging.device, unsafe=judging.unsafe)
    ):
        raise UnfitMachine(problem)
    own = judging.model_copy(update={"evaluator": REPLAY if replays else GPU, "devices": None})
    try:
        return build_evaluator(EvaluatorRequest(task=task, judging=own, seed=seed))
    except InputError as error:
        if not replays:
            raise
        raise UnfitMachine(str(error)) from error  # the file may be there for another worker


def machine_problem(task: KernelTask, *, device: int, unsafe: bool) -> str | None:
    """Returns why this machine can measure no candidate of `task`; None if it can.

    WorldError if the isolation cannot be probed.
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
