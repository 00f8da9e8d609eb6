"""The composition root: from a run's configuration to the parts that do it.

What decides the configuration is in `resolving`, the names in it in `choosing`, and what a run
remembers in `experiments.runs.memory.applying`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from experiments.runs.folders.snapshot import read_snapshot
from experiments.runs.options import names
from experiments.runs.options.config import RunConfig
from experiments.runs.options.libraries import open_library
from experiments.runs.tasks.files import TaskSource
from experiments.runs.wiring.choosing import (
    REPLAY,
    fitting_evaluator,
    resolve_recording,
    resolve_settings,
)
from mcts.attribution.attributor import Attributor
from mcts.domain import Hardware
from mcts.loop.briefing import Signatures
from mcts.loop.optimizer import Budget, Optimizer, Progress
from mcts.options import JudgingOptions
from mcts.ports import Advisor, Evaluator, Journal, Proposer
from mcts.requests import EvaluatorRequest, ProposerRequest


def choose_evaluator(
    source: TaskSource,
    judging: JudgingOptions,
    *,
    seed: int = 0,
    on_progress: Callable[[str], None],
) -> Evaluator:
    """The evaluator to judge candidates with outside a run, `auto` decided."""
    name = fitting_evaluator(source, judging)
    found = {"evaluator": name, "recording": resolve_recording(source, name, judging.recording)}
    request = EvaluatorRequest(
        task=source.task,
        judging=judging.model_copy(update=found),
        seed=seed,
        on_progress=on_progress,
    )
    return build_evaluator(request)


def build_evaluator(request: EvaluatorRequest) -> Evaluator:
    """The evaluator that a request names. InputError when it is not known or cannot work here."""
    name = names.split(request.judging.evaluator)[0]
    evaluator: Evaluator = names.load(names.EVALUATORS, name)(request)
    return evaluator


def build_proposer(
    source: TaskSource, config: RunConfig, *, hardware: Hardware, run_dir: Path | None = None
) -> Proposer:
    """The named proposer; it is told what hardware will measure, and where it may keep things."""
    request = ProposerRequest(
        task=source.task,
        tunables_only=config.judging.evaluator == REPLAY,
        model=config.model,
        library=open_library(config.library) if config.library else None,
        limits=config.limits,
        run_dir=run_dir,
        run_id=config.run_id,
        hardware=hardware,
        prior=config.search.prior,
    )
    proposer: Proposer = names.load(names.PROPOSERS, config.search.proposer)(request)
    return proposer


def build_advisor(config: RunConfig) -> Advisor:
    from microtools.advisor import RooflineAdvisor

    return RooflineAdvisor(weights=config.tool_weights)


def evaluator_of(
    source: TaskSource, config: RunConfig, *, on_progress: Callable[[str], None]
) -> Evaluator:
    """The evaluator a configuration names; its recording must be the one the run began with."""
    recording = config.recording.verified() if config.recording else None
    request = EvaluatorRequest(
        task=source.task,
        judging=config.judging.model_copy(update={"recording": recording}),
        seed=config.search.seed,
        run_id=config.run_id,
        on_progress=on_progress,
    )
    return build_evaluator(request)


def build_optimizer(
    source: TaskSource,
    config: RunConfig,
    *,
    evaluator: Evaluator,
    journal: Journal,
    run_dir: Path | None = None,
    proposer: Proposer | None = None,
    profiles_best: bool = True,
    on_progress: Callable[[Progress], None],
) -> Optimizer:
    """Everything wired; the evaluator is handed in because its caller must close it.

    The caller must close its proposer too, with `released`. `run_dir` is where answers of a
    language model are kept; a `proposer` stands in place of the one that the configuration names.
    The task is the evaluator's, which may judge no more than a part of it.
    """
    search, reward = resolve_settings(config.search.algorithm)
    chosen = proposer or build_proposer(
        source, config, hardware=evaluator.hardware, run_dir=run_dir
    )
    return Optimizer(
        task=evaluator.task,
        proposer=chosen,
        evaluator=evaluator,
        advisor=build_advisor(config),
        journal=journal,
        search_settings=search,
        reward_settings=reward,
        budget=budget_of(config),
        seed=config.search.seed,
        parallel=config.search.parallel,
        objective=config.search.objective,
        finalists=config.search.finalists,
        profiles_best=profiles_best,
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
    """What weighs the methods of a run, under the run's own limits.

    A `proposer` that can ablate takes out what no tunable can; its caller must close it.
    """
    return Attributor(
        task=source.task,
        evaluator=evaluator,
        journal=journal,
        ablator=proposer if proposer and proposer.can_ablate else None,
        signatures=signatures(),
        budget=budget_of(config),
    )


def signatures() -> Signatures:
    """By method whether a profile's machine code shows it, as the playbook says."""
    from codegen import playbook

    return playbook.signatures()


def unusable_tools() -> tuple[str, ...]:
    """What is wrong with micro-tools that others registered, a line each."""
    from microtools import registry

    return registry.available()[1]


def budget_of(config: RunConfig) -> Budget:
    """How far the run may go."""
    return Budget.of(config.limits)


@contextmanager
def released(proposer: Proposer | None) -> Iterator[None]:
    """Give up what a proposer holds at the end, so that no thread waits for an answer."""
    try:
        yield
    finally:
        if proposer is not None:
            proposer.close()
