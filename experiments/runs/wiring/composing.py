"""The composition root: from a run's configuration to the parts that do it.

What decides the configuration is in `resolving`, the names in it in `choosing`, what a run
remembers in `remembering`; all can be had from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, runtime_checkable

from experiments.runs.folders.snapshot import read_snapshot
from experiments.runs.memory.applying import learn, proposer_label, remember
from experiments.runs.options import names
from experiments.runs.options.config import RunConfig
from experiments.runs.options.libraries import open_library
from experiments.runs.options.request import Measuring
from experiments.runs.tasks.files import TaskSource
from experiments.runs.wiring.choosing import (
    GPU,
    LLM,
    REPLAY,
    SCRIPTED,
    fitting_evaluator,
    resolve_evaluator,
    resolve_memory,
    resolve_proposer,
    resolve_recording,
    resolve_settings,
)
from experiments.runs.wiring.parts import EvaluatorRequest, ProposerRequest
from experiments.runs.wiring.resolving import resolve, rooftree_version, widened
from mcts.attribution.attributor import Attributor
from mcts.domain import Hardware
from mcts.loop.briefing import Signatures
from mcts.loop.optimizer import Budget, Optimizer, Progress
from mcts.ports import Ablator, Advisor, Evaluator, Journal, Proposer

__all__ = [
    "GPU",
    "LLM",
    "REPLAY",
    "SCRIPTED",
    "Budget",
    "Closable",
    "budget_of",
    "build_advisor",
    "build_attributor",
    "build_evaluator",
    "build_optimizer",
    "build_proposer",
    "choose_evaluator",
    "evaluator_of",
    "learn",
    "proposer_label",
    "released",
    "remember",
    "resolve",
    "resolve_evaluator",
    "resolve_memory",
    "resolve_proposer",
    "resolve_recording",
    "resolve_settings",
    "rooftree_version",
    "signatures",
    "widened",
]

_PLAIN = Measuring()


@runtime_checkable
class Closable(Protocol):
    """A proposer that holds connections or files."""

    def close(self) -> None:
        """Give them up, and with them what is in flight; idempotent."""
        ...


def choose_evaluator(
    source: TaskSource,
    wanted: str,
    *,
    recording: Path | None = None,
    device: int = 0,
    seed: int = 0,
    measuring: Measuring = _PLAIN,
    on_progress: Callable[[str], None],
) -> Evaluator:
    """The evaluator to judge candidates with outside a run, `auto` decided."""
    name = fitting_evaluator(source, wanted, measuring, recording=recording, device=device)
    request = EvaluatorRequest(
        task=source.task,
        recording=resolve_recording(source, name, recording),
        seed=seed,
        device=device,
        compiled=measuring.compiled,
        ungated=measuring.ungated,
        unsafe=measuring.unsafe,
        includes=measuring.includes,
        argument=names.split(name)[1],
        on_progress=on_progress,
    )
    return build_evaluator(name, request)


def build_evaluator(name: str, request: EvaluatorRequest) -> Evaluator:
    """The named evaluator of a task. InputError when it is not known or cannot work here."""
    evaluator: Evaluator = names.load(names.EVALUATORS, names.split(name)[0])(request)
    return evaluator


def build_proposer(
    source: TaskSource, config: RunConfig, *, hardware: Hardware, run_dir: Path | None = None
) -> Proposer:
    """The named proposer; it is told what hardware will measure, and where it may keep things."""
    request = ProposerRequest(
        task=source.task,
        tunables_only=config.evaluator == REPLAY,
        model=config.model,
        api_base=config.api_base,
        asking=config.asking,
        library=open_library(config.library) if config.library else None,
        run_dir=run_dir,
        run_id=config.run_id,
        max_cost_usd=config.max_cost_usd,
        hardware=hardware,
    )
    proposer: Proposer = names.load(names.PROPOSERS, config.proposer)(request)
    return proposer


def build_advisor(config: RunConfig) -> Advisor:
    from microtools.advisor import RooflineAdvisor

    return RooflineAdvisor(weights=config.tool_weights)


def evaluator_of(
    source: TaskSource, config: RunConfig, *, on_progress: Callable[[str], None]
) -> Evaluator:
    """The evaluator a configuration names; its recording must be the one the run began with."""
    request = EvaluatorRequest(
        task=source.task,
        recording=config.recording.verified() if config.recording else None,
        seed=config.seed,
        device=config.device,
        compiled=config.compiled,
        ungated=config.ungated,
        unsafe=config.unsafe,
        includes=tuple(map(Path, config.includes)),
        argument=names.split(config.evaluator)[1],
        run_id=config.run_id,
        wait_minutes=config.wait_minutes,
        on_progress=on_progress,
    )
    return build_evaluator(config.evaluator, request)


def build_optimizer(
    source: TaskSource,
    config: RunConfig,
    *,
    evaluator: Evaluator,
    journal: Journal,
    run_dir: Path | None = None,
    on_progress: Callable[[Progress], None],
) -> Optimizer:
    """Everything wired; the evaluator is handed in because its caller must close it.

    The caller must close its proposer too, with `released`. `run_dir` is where answers of a
    language model are kept. The task is the evaluator's, which may judge no more than a part of it.
    """
    return Optimizer(
        task=evaluator.task,
        proposer=build_proposer(source, config, hardware=evaluator.hardware, run_dir=run_dir),
        evaluator=evaluator,
        advisor=build_advisor(config),
        journal=journal,
        search_settings=resolve_settings(config.search, config.search_settings),
        budget=budget_of(config),
        seed=config.seed,
        parallel=config.parallel,
        objective=config.objective,
        finalists=config.finalists,
        signatures=signatures(),
        knowledge=read_snapshot(run_dir, config.knowledge) if run_dir else None,
        on_progress=on_progress,
    )


def build_attributor(
    source: TaskSource,
    config: RunConfig,
    *,
    evaluator: Evaluator,
    journal: Journal,
    proposer: Proposer | None,
) -> Attributor:
    """What weighs the methods of a run, under the run's own caps.

    A `proposer` that is a Ablator takes out what no tunable can; its caller must close it.
    """
    return Attributor(
        task=source.task,
        evaluator=evaluator,
        journal=journal,
        ablator=proposer if isinstance(proposer, Ablator) else None,
        signatures=signatures(),
        budget=budget_of(config),
    )


def signatures() -> Signatures:
    """By method whether a profile's machine code shows it, as the playbook says."""
    from codegen import playbook

    return playbook.signatures()


def budget_of(config: RunConfig) -> Budget:
    """How far the run may go."""
    return Budget(
        evaluations=config.evaluations,
        minutes=config.minutes,
        cost_usd=config.max_cost_usd,
        tokens=config.max_tokens,
        gpu_minutes=config.max_gpu_minutes,
    )


@contextmanager
def released(proposer: Proposer | None) -> Iterator[None]:
    """Give up what a proposer holds at the end, so that no thread waits for an answer."""
    try:
        yield
    finally:
        if isinstance(proposer, Closable):
            proposer.close()
