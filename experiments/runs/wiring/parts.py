"""The factories of our own proposers and evaluators, which `experiments.runs.options.names` names.

A factory of another distribution has the same signature: one request in, one part out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from codegen.chat.clients import client_of
from experiments.runs.wiring.headers import include_folders
from mcts.errors import InputError
from mcts.ports import Evaluator, Proposer
from mcts.requests import EvaluatorRequest, ProposerRequest

if TYPE_CHECKING:
    from distributed import Client


def gpu_evaluator(request: EvaluatorRequest) -> Evaluator:
    """Measures on the machine's own GPU, by the evaluator of the task's dialect."""
    if request.judging.devices is not None:
        return _several_gpus(request, request.judging.devices)
    import codegen
    from profilers.dialects import live_evaluator

    if request.task.dialect.in_pytorch:
        includes = include_folders(request.judging.includes)
        judging = request.judging.model_copy(update={"includes": includes})
        request = replace(request, judging=judging)
    readable = tuple(map(Path, codegen.__path__))  # candidates import codegen.torch_cuda
    return live_evaluator(request, readable=readable)


def _several_gpus(request: EvaluatorRequest, wanted: str) -> Evaluator:
    """Measures on several GPUs of this machine, a worker process for each."""
    from experiments.cluster.connecting import own_cluster
    from experiments.runs.wiring.gpus import devices_of

    client, end = own_cluster(devices_of(wanted))
    return _cluster_evaluator(request, client, at_end=end)


def dask_evaluator(request: EvaluatorRequest) -> Evaluator:
    """Hands candidates to the workers of a Dask cluster, each of which owns a GPU.

    With a recording they answer from it. InputError if no scheduler is named, or none answers.
    """
    if not request.argument:
        raise InputError("--evaluator dask needs a scheduler: dask:ADDRESS or dask:FILE.json")
    from experiments.cluster.connecting import connected

    return _cluster_evaluator(request, connected(request.argument))


def _cluster_evaluator(
    request: EvaluatorRequest, client: Client, *, at_end: Callable[[], None] | None = None
) -> Evaluator:
    from experiments.cluster.evaluator import ClusterEvaluator
    from experiments.runs.wiring.remote import worker_evaluator

    judging, minutes = request.judging, request.judging.wait_minutes
    nobodys = {"device": 0, "devices": None, "worker": None, "wait_minutes": None}
    return ClusterEvaluator(
        request.task,
        client,
        factory=worker_evaluator,
        judging=judging.model_copy(update=nobodys),
        seed=request.seed,
        wait_s=None if minutes is None else 60 * minutes,
        home=judging.worker,
        on_progress=request.on_progress,
        at_end=at_end,
    )


def replay_evaluator(request: EvaluatorRequest) -> Evaluator:
    """Answers from a recording."""
    if request.judging.recording is None:
        none = f"task {request.task.name!r} has no recording to replay"
        if request.task.dialect.in_pytorch:
            raise InputError(f"{none}: PyTorch candidates are measured with --evaluator gpu")
        raise InputError(
            f"{none}: record one on a GPU with rooftree record, or give --recording FILE"
        )
    from profilers.recordings.replay import ReplayEvaluator
    from profilers.recordings.t4 import load_recording

    return ReplayEvaluator(
        request.task, load_recording(request.judging.recording), seed=request.seed
    )


def scripted_proposer(request: ProposerRequest) -> Proposer:
    """Moves over the declared tunables, with no model behind it."""
    from codegen.scripted.proposer import ScriptedProposer

    return ScriptedProposer()


def transfer_proposer(request: ProposerRequest) -> Proposer:
    """Values by what they were worth on other GPUs. InputError without a recording of one."""
    from codegen.scripted.transfer import Source, TransferProposer
    from profilers.recordings.t4 import load_recording

    sources = []
    for path in request.prior:
        recording = load_recording(path)
        times = {
            each.key: each.time_us for each in recording.configurations if each.time_us is not None
        }
        sources.append(Source(name=recording.hardware.name, times=times))
    return TransferProposer(sources)


def llm_proposer(request: ProposerRequest) -> Proposer:
    """A language model through litellm. InputError if none is named."""
    from codegen.llm import LlmProposer
    from microtools.toolbox import ChosenTools

    client = client_of(
        request.model,
        run_dir=request.run_dir,
        run_id=request.run_id,
        max_cost_usd=request.limits.cost_usd,
    )
    return LlmProposer(
        request.model,
        client=client,
        library=request.library,
        tunables_only=request.tunables_only,
        hardware=request.hardware,
        tools=ChosenTools(),
    )
