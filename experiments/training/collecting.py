"""Judged replies, from whatever folders they lie in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

from experiments.benchmarks.measurements.asking import ANSWERS_FILE
from experiments.benchmarks.one_step.config import ONE_STEP
from experiments.benchmarks.studies.folder import study_kind
from experiments.training.answers import Answer, stored_answers, tape_answers
from experiments.training.judged import JudgedReply, Reading
from experiments.training.run_replies import replies_of_run, runs_in
from experiments.training.step_replies import replies_of_steps
from mcts.errors import InputError
from mcts.options.model import CACHE_FILE


def read_judged(paths: Sequence[Path]) -> Reading:
    """The judged replies of run folders, folders of studies with a model, one-step studies, and
    suites of runs.

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

    def take(replies: Iterable[JudgedReply], source: str) -> None:
        before = len(reading.replies)
        for reply in replies:
            if reply.id in known:
                reading.left_out["given by another run to the same question"] += 1
                continue
            known.add(reply.id)
            reading.replies.append(reply)
        reading.sources.append(f"{source}: {len(reading.replies) - before} replies")

    for folder in folders:
        if study_kind(folder) == ONE_STEP:
            take(replies_of_steps(folder, on_tape, reading.left_out), folder.name)
            continue
        runs = runs_in(folder)
        if not runs:
            raise InputError(f"{folder} is neither a run, a study, nor a folder of runs")
        for run in runs:
            kept = [*stored_answers(run / CACHE_FILE), *_of_study(run, stored), *on_tape]
            replies = replies_of_run(run, kept, reading.left_out)
            take(replies, f"{run.parent.name}/{run.name}")
    return reading


def _of_study(run: Path, stored: Callable[[Path], list[Answer]]) -> list[Answer]:
    """What the study that a run belongs to was answered: its folder is three above the run's."""
    return next(filter(None, (stored(above / ANSWERS_FILE) for above in run.parents[:3])), [])
