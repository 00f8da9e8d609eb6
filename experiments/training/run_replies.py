"""The judged replies of run folders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import DATABASE, read_events
from experiments.training.answers import Answer, answers_holding, by_question
from experiments.training.judged import JudgedReply, judged_reply
from mcts.journal.record import read_result


def runs_in(folder: Path) -> list[Path]:
    """The run folders at or below a folder, at most four deep; in the order of their names."""
    if (folder / DATABASE).is_file():
        return [folder]
    found = [path.parent for deep in range(1, 5) for path in folder.glob("*/" * deep + DATABASE)]
    return sorted(found)


def replies_of_run(
    path: Path, answers: Sequence[Answer], left_out: dict[str, int]
) -> Iterator[JudgedReply]:
    """The judged replies of a run folder. JournalError for a damaged journal."""
    folder = RunFolder(path)
    config = folder.config
    events = tuple(read_events(path))
    if not any(event.kind == "told" for event in events):
        left_out["run without a measured baseline"] += 1
        return
    result = read_result(events)
    started = next(event.payload for event in events if event.kind == "started")
    task = folder.task(config).task
    asked = by_question(answers)
    for node in result.nodes[1:]:
        parent = result.nodes[node.parent] if node.parent is not None else None
        if node.restarted or parent is None or parent.candidate is None:
            continue
        if node.candidate is None or node.duplicate_of is not None:
            left_out["no candidate in it, or one that was known"] += 1
            continue
        if node.verdict is None:
            left_out["not judged"] += 1
            continue
        holding = answers_holding(
            node.candidate, parent.candidate, task, asked, from_baseline=parent.id == 0
        )
        found = next(holding, None)
        if found is None:
            left_out["its answer is not kept with the run"] += 1
            continue
        yield judged_reply(
            found,
            task,
            node.candidate,
            node.verdict,
            parent=parent.candidate,
            parent_evaluation=parent.verdict,
            hardware=str(started["hardware"]),
            run=path.name,
            trial=node.id,
            model=node.usage.get("model"),
        )
