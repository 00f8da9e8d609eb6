"""`memory`: what was learned over all runs, shown, shared and forgotten."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import read_events
from experiments.runs.memory import applying
from experiments.runs.memory import export as contributions
from experiments.runs.memory.database import MemoryEmpty, default_path, no_memory
from experiments.runs.memory.experience import ExperienceRow, experience_rows
from experiments.runs.memory.knowledge import ForgetFilter, KnowledgeStore
from experiments.runs.memory.tools import ToolMemory, ToolStatistics
from experiments.text.tables import Column, print_fitted
from experiments.views.summary import facts_of
from mcts.errors import InputError, JournalError
from mcts.journal.record import Result, read_result
from mcts.journal.runlog import begun_on
from mcts.knowledge.contribution import Contribution
from mcts.ports import Event

_DAY_S = 86_400.0
_EMPTY = (
    "{path} holds nothing yet: it learns from searches on a GPU, "
    "and from replays that are given --memory FILE"
)


def tools(*, memory: Path | None, gpu: str | None, proposer: str | None, as_json: bool) -> None:
    """Print hit rates and gains per tool, GPU and proposer."""
    path = memory or default_path()
    rows: list[ToolStatistics] = []
    if path.exists():
        with suppress(MemoryEmpty), ToolMemory(path, readonly=True) as store:
            rows = store.statistics(gpu=gpu, proposer=proposer)
    if as_json:
        found = [{**asdict(row), "mean_gain": row.mean_gain} for row in rows]
        print(json.dumps({"memory": str(path), "tools": found}, ensure_ascii=False))
    elif not rows:
        print(_EMPTY.format(path=path))
    else:
        _print_tools(rows)


def show(
    *,
    memory: Path | None,
    task: str | None,
    method: str | None,
    besides: str | None,
    every_state: bool,
    as_json: bool,
) -> None:
    """Print what each method brought in each state, and what is expected of it."""
    path = memory or default_path()
    chosen = [
        each
        for each in _read(path)
        if task in (None, each.task) and method in (None, each.method) and each.task != besides
    ]
    rows = experience_rows(chosen, every_state=every_state)
    if as_json:
        print(json.dumps(_summary(path, chosen, rows), ensure_ascii=False))
    elif not rows:
        narrowed = any(value is not None for value in (task, method, besides))
        print(f"{path} holds nothing of that" if narrowed else _EMPTY.format(path=path))
    else:
        _print_experience(rows)
        runs, tasks = ({each.run for each in chosen}, {each.task for each in chosen})
        print(f"{len(chosen)} contributions of {len(runs)} runs on {len(tasks)} tasks, in {path}")


def export(target: Path, *, memory: Path | None, task: str | None, force: bool) -> None:
    """Write the contributions as JSON lines. InputError if `target` exists and not `force`."""
    path = memory or default_path()
    chosen = [each for each in _read(path) if task in (None, each.task)]
    contributions.write_lines(target, chosen, force=force)
    if str(target) != contributions.STANDARD:
        print(f"{len(chosen)} contributions written to {target}")


def import_(sources: list[Path], *, memory: Path | None) -> None:
    """Add the contributions of all exports, or none of them if a line is bad (InputError)."""
    path = memory or default_path()
    read = [each for source in sources for each in contributions.read_lines(source)]
    with KnowledgeStore(path) as store:
        added = store.add(read)
    known = len({each.id for each in read}) - added
    print(f"{added} contributions added to {path}, {known} were known")


def learn(runs: list[Path], *, memory: Path | None) -> None:
    """Add what runs came to; what is known already changes nothing. InputError, with nothing added,
    if one of them is no run.
    """
    path = memory or default_path()
    read = [_run_of(folder) for folder in runs]
    before = len(_read(path))
    for run, events, result in read:
        begun = begun_on(events)
        gpu = begun.name if begun else facts_of(events).hardware
        config = run.config
        config = config.model_copy(
            update={"search": config.search.model_copy(update={"memory": path.absolute()})}
        )
        applying.learn(
            config,
            result,
            events,
            gpu=gpu,
            task=run.task(config).task,
            run_dir=run.path,
        )
    print(f"{len(_read(path)) - before} contributions of {len(runs)} runs added to {path}")


def _run_of(path: Path) -> tuple[RunFolder, tuple[Event, ...], Result]:
    run = RunFolder(path)
    events = read_events(path)
    try:
        return run, events, read_result(events)
    except JournalError as error:
        raise InputError(f"{path}: {error}") from None


def forget(
    *,
    memory: Path | None,
    run: str | None,
    task: str | None,
    method: str | None,
    older_than_days: float | None,
    everything: bool,
) -> None:
    """Delete the contributions that match all the given conditions.

    Raises InputError if neither a condition nor `everything` is given, or both, or if there is no
    such memory.
    """
    path = memory or default_path()
    before = None if older_than_days is None else time.time() - older_than_days * _DAY_S
    conditions = ForgetFilter(run=run, task=task, method=method, before=before)
    if (conditions == ForgetFilter()) != everything:
        raise InputError(
            "name what to forget (--run, --task, --method, --older-than), or --all for everything"
        )
    if not path.is_file():
        raise no_memory(path)
    with KnowledgeStore(path) as store:
        forgotten = store.forget(conditions)
    print(f"{forgotten} contributions forgotten in {path}")


def _read(path: Path) -> list[Contribution]:
    if path.exists():
        with suppress(MemoryEmpty), KnowledgeStore(path, readonly=True) as store:
            return store.contributions()
    return []


def _summary(
    path: Path, chosen: list[Contribution], rows: Iterable[ExperienceRow]
) -> dict[str, object]:
    return {
        "memory": str(path),
        "contributions": len(chosen),
        "runs": sorted({each.run for each in chosen}),
        "tasks": sorted({each.task for each in chosen}),
        "experience": [row.as_json() for row in rows],
    }


_EXPERIENCE = (
    Column("state", "words"),
    Column("method", "words"),  # one word, or two: "without METHOD"
    Column("tasks", spare=5),
    Column("tried", spare=1),
    Column("faster", spare=2),
    Column("failed", spare=3),
    Column("absent", spare=7),
    Column("mean gain", spare=4),
    Column("expected"),
    Column("predicted", spare=6),
)


def _print_experience(rows: Iterable[ExperienceRow]) -> None:
    print_fitted(_EXPERIENCE, [_experience_row(row) for row in rows])


def _experience_row(row: ExperienceRow) -> tuple[str, ...]:
    return (
        str(row.state),
        f"{'without ' if row.act.undone else ''}{row.act.method}",
        str(row.tasks),
        str(row.evidence.tried),
        _share(row.evidence.improved, row.evidence.tried),
        _share(row.evidence.failed, row.evidence.tried),
        str(row.evidence.unrealised or ""),
        f"{row.mean_gain:.2f}x" if row.mean_gain else "",
        f"{row.expected:.2f}x ({row.low:.2f} to {row.high:.2f})",
        f"{row.predicted:.2f}x, got {row.found:.2f}x" if row.predicted and row.found else "",
    )


_TOOLS = (
    Column("tool", "name"),
    Column("GPU", "words"),
    Column("proposer", "name"),
    Column("fired", spare=3),
    Column("followed", spare=1),
    Column("improved", spare=2),
    Column("> 1.5x", spare=5),
    Column("failed", spare=4),
    Column("mean gain"),
    Column("predicted", spare=6),
)


def _print_tools(rows: Iterable[ToolStatistics]) -> None:
    ordered = sorted(rows, key=lambda row: (row.gpu, row.proposer, -row.followed, row.tool))
    print_fitted(_TOOLS, [_tool_row(row) for row in ordered])


def _tool_row(row: ToolStatistics) -> tuple[str, ...]:
    return (
        row.tool,
        row.gpu,
        row.proposer,
        str(row.fired),
        str(row.followed),
        _share(row.improved, row.followed),
        _share(row.great, row.followed),
        _share(row.failed, row.followed),
        f"{row.mean_gain:.2f}x" if row.mean_gain else "",
        f"{row.predicted_gain:.2f}x, got {row.realised_gain:.2f}x"
        if row.predicted_gain and row.realised_gain
        else "",
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else ""
