"""Our own proposers and evaluators, as the entry-point groups name them.

A factory of another distribution has the same signature: one request in, one part out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from experiments.runs.options.asking import Asking, client_of
from mcts.domain import PYTORCH_DIALECTS, Hardware, KernelTask
from mcts.errors import InputError
from mcts.library import Library
from mcts.ports import Evaluator, Proposer

NO_MODEL = "the llm proposer needs --model NAME (any model name litellm knows)"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorRequest:
    """What an evaluator is built from.

    `recording` is the T4 file to replay, where there is one; `on_progress` takes a line about
    what is being prepared. `compiled`, `ungated` and `unsafe` are for live evaluators. `argument`
    is what stands behind the colon of an evaluator's name, `run_id` the run it works for;
    `wait_minutes` is how long one whose GPUs are elsewhere goes on without any, None for ever.
    """

    task: KernelTask
    recording: Path | None = None
    seed: int = 0
    device: int = 0
    compiled: bool = False
    ungated: bool = False
    unsafe: bool = False
    includes: tuple[Path, ...] = ()
    argument: str = ""
    run_id: str = ""
    wait_minutes: float | None = None
    on_progress: Callable[[str], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposerRequest:
    """What a proposer is built from.

    `tunables_only`: the evaluator cannot judge new source, only tunable values. `hardware` is
    what will measure. `asking` says how a language model is asked, None by its defaults, `library`
    what it may look things up in, to be closed with the proposer; `run_dir` and `run_id` are the
    run's, `max_cost_usd` its cap.
    """

    task: KernelTask
    tunables_only: bool
    model: str | None = None
    api_base: str | None = None
    asking: Asking | None = None
    library: Library | None = None
    run_dir: Path | None = None
    run_id: str = ""
    max_cost_usd: float | None = None
    hardware: Hardware | None = None


def gpu_evaluator(request: EvaluatorRequest) -> Evaluator:
    """Measures on the machine's own GPU: device code, or PyTorch candidates."""
    if request.task.dialect == "space":
        raise InputError(
            f"task {request.task.name!r} is a recording without source: it can only be replayed"
        )
    if request.task.dialect in PYTORCH_DIALECTS:
        return _torch_evaluator(request)
    if request.compiled:
        raise InputError("torch.compile is a baseline for KernelBench problems only")
    from profilers.cuda.evaluator import GpuEvaluator
    from profilers.cuda.settings import GpuSettings

    return GpuEvaluator(
        request.task,
        device=request.device,
        settings=GpuSettings(ungated=request.ungated),
        on_progress=request.on_progress,
    )


def _torch_evaluator(request: EvaluatorRequest) -> Evaluator:
    import codegen
    from experiments.runs.wiring.headers import include_folders
    from profilers.host.evaluator import HostEvaluator
    from profilers.host.settings import HostSettings
    from profilers.kernelbench.judge.settings import KernelBenchSettings

    return HostEvaluator(
        request.task,
        host=HostSettings(includes=include_folders(request.includes)),
        device=request.device,
        settings=KernelBenchSettings(
            compiled=request.compiled,
            ungated=request.ungated,
            unsafe=request.unsafe,
            readable=tuple(map(Path, codegen.__path__)),  # candidates import codegen.torch_cuda
        ),
        on_progress=request.on_progress,
    )


def spool_evaluator(request: EvaluatorRequest) -> Evaluator:
    """Hands candidates to workers on other machines, through a folder that both can see.

    InputError where the folder cannot be made; where it is made, that is said: no worker can have
    been started for it.
    """
    if not request.argument:
        raise InputError("--evaluator spool needs the folder: spool:DIR")
    from experiments.farm.evaluator import SpoolEvaluator
    from experiments.farm.folder import JobFolder
    from experiments.farm.jobs import Terms

    folder = JobFolder(Path(request.argument), unsafe=request.unsafe)
    if folder.made and request.on_progress is not None:
        request.on_progress(f"made the job folder {folder.path}: it was not there before")
    return SpoolEvaluator(
        request.task,
        folder,
        run_id=request.run_id or None,
        terms=Terms(compiled=request.compiled, ungated=request.ungated),
        wait_s=None if request.wait_minutes is None else 60 * request.wait_minutes,
        on_progress=request.on_progress,
    )


def replay_evaluator(request: EvaluatorRequest) -> Evaluator:
    """Answers from a recording."""
    if request.recording is None:
        none = f"task {request.task.name!r} has no recording to replay"
        if request.task.dialect in PYTORCH_DIALECTS:
            raise InputError(f"{none}: PyTorch candidates are measured with --evaluator gpu")
        raise InputError(
            f"{none}: record one on a GPU with rooftree record, or give --recording FILE"
        )
    from profilers.recordings.replay import ReplayEvaluator
    from profilers.recordings.t4 import load_recording

    return ReplayEvaluator(request.task, load_recording(request.recording), seed=request.seed)


def scripted_proposer(request: ProposerRequest) -> Proposer:
    """Moves over the declared tunables, with no model behind it."""
    from codegen.scripted.proposer import ScriptedProposer

    return ScriptedProposer()


def llm_proposer(request: ProposerRequest) -> Proposer:
    """A language model through litellm."""
    if request.model is None:
        raise InputError(NO_MODEL)
    from codegen.chat.prices import parse_prices
    from codegen.llm import LlmProposer
    from codegen.lookups.conversation import LookupSettings

    asking = request.asking or Asking()
    return LlmProposer(
        model=request.model,
        temperature=asking.temperature,
        max_tokens=asking.reply_tokens,
        feedback=asking.feedback,
        prompt_tokens=asking.prompt_tokens,
        reply_repairs=asking.reply_repairs,
        branches=asking.branches,
        prices=parse_prices(asking.prices),
        library=request.library,
        lookups=LookupSettings(
            calls=asking.lookups,
            tokens=asking.lookup_tokens,
            protocol="calls" if asking.lookup_protocol == "calls" else "text",
        ),
        client=client_of(
            asking,
            model=request.model,
            api_base=request.api_base,
            run_dir=request.run_dir,
            run_id=request.run_id,
            max_cost_usd=request.max_cost_usd,
        ),
        tunables_only=request.tunables_only,
        hardware=request.hardware,
    )
