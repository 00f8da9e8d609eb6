"""The memory before a run, which reads it, and after it, which adds to it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from experiments.runs.folders.snapshot import read_snapshot
from experiments.runs.memory.advice import attributed_follow_ups, firings
from experiments.runs.memory.contributions import Origin, contributions_of, first_implementations
from experiments.runs.memory.database import MemoryEmpty, MemoryUnavailable
from experiments.runs.memory.knowledge import KnowledgeStore
from experiments.runs.memory.tools import ToolMemory
from experiments.runs.options.config import RunConfig
from mcts.domain import KernelTask
from mcts.journal.record import Result
from mcts.knowledge.base import Knowledge
from mcts.ports import Event


def remember(config: RunConfig, *, gpu: str, asked: bool) -> tuple[RunConfig, Knowledge]:
    """`config` with the tools' weights for `gpu` from its memory, and what is known of methods.

    InputError for a bad memory. Unless the user `asked` for it, a memory that does not exist yet is
    created only when there is something to keep.
    """
    if config.memory is None:
        return config, Knowledge()
    from microtools.ranking import ToolRecord, calibrated_weights

    path = config.memory
    try:
        if asked:
            with KnowledgeStore(path):
                pass
        if not path.exists():
            return config, Knowledge()
    except MemoryUnavailable:
        if not path.exists():
            raise
    try:
        with ToolMemory(path, readonly=True) as memory:
            rows = memory.statistics(gpu=gpu, proposer=proposer_label(config))
        with KnowledgeStore(path, readonly=True) as store:
            knowledge = store.knowledge()
    except MemoryEmpty:  # another run that ends just now is making it
        return config, Knowledge()
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
    """Add to the memory what each tool's advice and each method came to. WorldError if it cannot be
    written."""
    if config.memory is None:
        return
    first = first_implementations(result, task)
    followed = (one for one in attributed_follow_ups(result) if one.child not in first)
    with ToolMemory(config.memory) as memory:
        memory.learn(
            config.run_id,
            gpu=gpu,
            proposer=proposer_label(config),
            fired=firings(result),
            followed=followed,
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
    with KnowledgeStore(config.memory) as store:
        store.add(contributions_of(result, events, origin))


def proposer_label(config: RunConfig) -> str:
    """The proposer's name, with its model if it has one."""
    proposer, model = config.search.proposer, config.model.name
    return f"{proposer} ({model})" if model else proposer
