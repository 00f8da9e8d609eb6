"""A run's memory of other runs: what it says before the run, and what it is taught after."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from experiments.runs.folders.snapshot import read_snapshot
from experiments.runs.memory.calibration import firings
from experiments.runs.memory.crediting import credited
from experiments.runs.memory.file import MemoryUnavailable
from experiments.runs.memory.gathering import Origin, contributions_of
from experiments.runs.memory.knowledge import KnowledgeStore
from experiments.runs.memory.tools import ToolMemory
from experiments.runs.options.config import RunConfig
from mcts.domain import KernelTask
from mcts.journal.record import Result
from mcts.knowledge.base import Knowledge
from mcts.ports import Event


def remember(config: RunConfig, *, gpu: str, asked: bool) -> tuple[RunConfig, Knowledge]:
    """`config` with what its memory says of the tools on `gpu`, and what it knows of methods.

    InputError for a bad memory. Where nobody `asked` for it and there is none, one that cannot be
    made is no trouble before there is something to keep.
    """
    if config.memory is None:
        return config, Knowledge()
    from microtools.ranking import ToolRecord, calibrated_weights

    path = Path(config.memory)
    try:
        if asked:
            with KnowledgeStore(path):
                pass
        if not path.exists():
            return config, Knowledge()
    except MemoryUnavailable:
        if not path.exists():
            raise
    with ToolMemory(path, readonly=True) as memory:
        rows = memory.statistics(gpu=gpu, proposer=proposer_label(config))
    with KnowledgeStore(path, readonly=True) as store:
        knowledge = store.knowledge()
    records = [
        ToolRecord(row.tool, row.followed, row.improved, row.failed, row.mean_log_gain)
        for row in rows
    ]
    return config.model_copy(update={"tool_weights": calibrated_weights(records)}), knowledge


def learn(
    config: RunConfig,
    result: Result,
    events: Iterable[Event],
    *,
    gpu: str,
    task: KernelTask,
    run_dir: Path,
) -> None:
    """Teach the run's memory what each tool's advice, and each method, came to. WorldError if it
    cannot."""
    if config.memory is None:
        return
    with ToolMemory(Path(config.memory)) as memory:
        memory.learn(
            config.run_id,
            gpu=gpu,
            proposer=proposer_label(config),
            fired=firings(result),
            followed=credited(result),
        )
    from codegen import playbook

    origin = Origin(
        run=config.run_id,
        task=task,
        gpu=gpu,
        proposer=proposer_label(config),
        knowledge=read_snapshot(run_dir, config.knowledge),
        signatures=playbook.signatures(),
    )
    with KnowledgeStore(Path(config.memory)) as store:
        store.add(contributions_of(result, events, origin))


def proposer_label(config: RunConfig) -> str:
    """Who proposes, with the model where there is one."""
    return f"{config.proposer} ({config.model})" if config.model else config.proposer
