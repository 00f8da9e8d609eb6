"""Replies of a model with the verdict on what they held: what every training set is made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from codegen.prompting.variant import shown_source
from experiments.benchmarks.measurements.asking import ANSWERS_FILE
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import DATABASE, read_events
from experiments.training.answers import (
    Answer,
    answer_holding,
    by_question,
    stored_answers,
    tape_answers,
)
from experiments.training.families import family_of
from mcts.domain import Evaluation, Noun, Scalar, tagged_hash
from mcts.errors import InputError
from mcts.journal.record import read_result
from mcts.options.model import CACHE_FILE


class JudgedReply(Noun):
    """One reply of a model to one prompt, and what the judge said of it.

    `parent` and `candidate` are ids; `code` is the candidate's source and `values` are its
    tunables, which may be other ones than the reply's where further values were timed. The
    evaluation is the confirmation where there was one, as a run reports it, without its samples and
    its profile; `parent_evaluation` is what the parent came to in the same run. `run` names the
    folder, `trial` the node in it.
    """

    id: str
    task: str
    task_id: str
    family: str
    dialect: str
    hardware: str
    model: str
    parent: str
    candidate: str
    code: str
    values: dict[str, Scalar] = {}
    prompt: tuple[dict[str, str], ...]
    reply: str
    evaluation: Evaluation
    parent_evaluation: Evaluation | None
    run: str
    trial: int

    @property
    def held(self) -> bool:
        """Whether the candidate was measured, and may be handed back."""
        return self.evaluation.measured and not self.evaluation.held_back


@dataclass(slots=True)
class Reading:
    """What was read: the replies, and how many were left out, by reason."""

    replies: list[JudgedReply] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    sources: list[str] = field(default_factory=list)


def read_judged(paths: Sequence[Path]) -> Reading:
    """The judged replies of run folders, folders of studies with a model, and suites of runs.

    Tapes (`--llm-record`) among the paths add their answers to every run: of themselves they hold
    no verdict. The same reply of two runs to one question is taken once. Raises InputError for what
    is none of these, JournalError for a damaged journal.
    """
    tapes = [path for path in paths if path.is_file()]
    folders = [path for path in paths if not path.is_file()]
    on_tape = [answer for path in tapes for answer in tape_answers(path)]
    if tapes and not folders:
        raise InputError(
            f"{tapes[0]} is a tape, which holds no verdicts: give the runs that it was recorded in "
            "as well"
        )
    reading, known = Reading(), set[str]()
    stored = cache(stored_answers)  # once a study, not once a run
    for folder in folders:
        runs = runs_in(folder)
        if not runs:
            raise InputError(f"{folder} is neither a run nor a folder of runs")
        for run in runs:
            before = len(reading.replies)
            kept = [*stored_answers(run / CACHE_FILE), *_of_study(run, stored), *on_tape]
            for reply in _of_run(run, kept, reading.left_out):
                if reply.id in known:
                    reading.left_out["given by another run to the same question"] += 1
                    continue
                known.add(reply.id)
                reading.replies.append(reply)
            count = len(reading.replies) - before
            reading.sources.append(f"{run.parent.name}/{run.name}: {count} replies")
    return reading


def runs_in(folder: Path) -> list[Path]:
    """The run folders at or below a folder, at most four deep; in the order of their names."""
    if (folder / DATABASE).is_file():
        return [folder]
    found = [path.parent for deep in range(1, 5) for path in folder.glob("*/" * deep + DATABASE)]
    return sorted(found)


def _of_run(
    path: Path, answers: Sequence[Answer], left_out: dict[str, int]
) -> Iterator[JudgedReply]:
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
        found = answer_holding(
            node.candidate, parent.candidate, task, asked, from_baseline=parent.id == 0
        )
        if found is None:
            left_out["its answer is not kept with the run"] += 1
            continue
        prompt = tuple(
            {"role": str(message["role"]), "content": str(message["content"])}
            for message in found.messages
        )
        yield JudgedReply(
            id=tagged_hash(
                "reply",
                [task.id, started["hardware"], parent.candidate.id, prompt, found.text],
            ),
            task=task.name,
            task_id=task.id,
            family=family_of(task),
            dialect=str(task.dialect),
            hardware=str(started["hardware"]),
            model=str(node.usage.get("model") or found.model),
            parent=parent.candidate.id,
            candidate=node.candidate.id,
            code=shown_source(node.candidate, task.dialect),
            values=dict(node.candidate.tunables),
            prompt=prompt,
            reply=found.text,
            evaluation=_trimmed(node.verdict),
            parent_evaluation=_trimmed(parent.verdict) if parent.verdict else None,
            run=path.name,
            trial=node.id,
        )


def _of_study(run: Path, stored: Callable[[Path], list[Answer]]) -> list[Answer]:
    """What the study that a run belongs to was answered: its folder is three above the run's."""
    return next(filter(None, (stored(above / ANSWERS_FILE) for above in run.parents[:3])), [])


def _trimmed(evaluation: Evaluation) -> Evaluation:
    """The verdict without single samples, build logs and profile."""
    timing, build = evaluation.timing, evaluation.build
    return evaluation.model_copy(
        update={
            "timing": timing and timing.without_samples(),
            "build": build and build.model_copy(update={"log": ""}),
            "profile": None,
        }
    )


def as_text(reply: JudgedReply) -> str:
    """All that a row says in words, for looking for what must not leave."""
    return "\n".join([*(message["content"] for message in reply.prompt), reply.reply, reply.code])
