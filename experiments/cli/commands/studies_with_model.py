"""What `study` and `compare` do alike for every kind of study with a model."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from codegen.chat.queue import waiting
from experiments.app.interrupting import signals_interrupt
from experiments.app.messages import say
from experiments.benchmarks.measurements.asking import same_but_money
from experiments.benchmarks.measurements.reusing import check_reusable
from experiments.benchmarks.measurements.reusing import reuse as reused
from experiments.benchmarks.measurements.session import Show
from experiments.benchmarks.model_studies.cell import ModelCellResult
from experiments.benchmarks.model_studies.nouns import ModelComparison
from experiments.benchmarks.one_step.nouns import StepComparison
from experiments.benchmarks.one_step.step import StepResult
from experiments.benchmarks.studies.contest_tables import as_csv
from experiments.benchmarks.studies.contests import PairedContest
from experiments.benchmarks.studies.folder import AnyStudyFolder
from experiments.text.tables import Fitted
from experiments.text.tables import show as show_tables
from mcts.domain import Noun
from mcts.errors import InputError
from mcts.options import JudgingOptions, ModelOptions

Progress = Callable[[str], AbstractContextManager[Show]]


def judged_by(judging: JudgingOptions, evaluator: str) -> JudgingOptions:
    """How a session judges: by the study's evaluator, unless the command names another."""
    if "evaluator" in judging.given():
        return judging
    return judging.model_copy(update={"evaluator": evaluator})


@contextmanager
def going_on(
    folder: AnyStudyFolder[Any, Any], plan: Noun, reuse: Sequence[Path], *, again: str
) -> Iterator[None]:
    """Hold the folder, with the plan written and what the folders of `reuse` hold taken over.

    KeyboardInterrupt within says how to go on, with the command `again`.
    """
    for source in reuse:
        check_reusable(source)
    with folder.held(), signals_interrupt():
        folder.write_plan(plan)
        for source in reuse:
            answers, measurements = reused(source, folder.path)
            say(f"taken over from {source}: {answers} answers, {measurements} measurements")
        try:
            yield
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted, what was run is kept; go on with: {again}"
            ) from None


def go_on_words(config: str, out: Path | None, model: ModelOptions) -> str:
    """The command that goes on with a study."""
    words = ["rooftree", "study", config]
    if out is not None:
        words += ["-o", str(out)]
    if model.queue is not None:
        words += ["--llm-queue", str(model.queue)]
    return shlex.join(words)


def conclude(folder: Path, *, pending: int, units: str, queue: Path | None, again: str) -> None:
    """Say what waits for an answer, and how to go on.

    units: what they are called, in the plural.
    """
    if pending:
        place = f" in {queue}: {len(waiting(queue))} questions" if queue is not None else ""
        say(f"{pending} {units} wait for an answer{place}; then go on with: {again}")
    print(f"compare with: rooftree compare {shlex.quote(str(folder))}")


LineT = TypeVar("LineT", StepResult, ModelCellResult)


def check_replayed(
    folder: AnyStudyFolder[Any, LineT],
    again: Iterable[LineT],
    *,
    place_of: Callable[[LineT], str],
    units: str,
    does: str,
) -> None:
    """Hold lines that were found again against the folder's.

    InputError if there is none, and for one that differs, whose `place_of` says which it is.
    units: what a line is of, in the plural; does: what another Rooftree does otherwise.
    """
    lines = {line.key: line for line in folder.lines()}
    found = 0
    for line in again:
        if not same_but_money(line, lines[line.key]):
            raise InputError(
                f"{place_of(line)} comes out otherwise: this Rooftree {does} differently"
            )
        found += 1
    if not found:
        raise InputError(
            f"no {units.removesuffix('s')} of {folder.path} can be taken again: it has none, or "
            "they are of another version"
        )
    print(f"{found} {units} come out as they were, to the digit, without model and GPU")


def show_comparison(
    folder: AnyStudyFolder[Any, Any],
    found: StepComparison | ModelComparison,
    *,
    columns: type[PairedContest],
    tables: Sequence[Fitted],
    explanation: str,
    as_json: bool,
) -> None:
    """Write compare.csv and compare.json into the study's folder, and print."""
    text = json.dumps(found.model_dump(mode="json"), ensure_ascii=False)
    files = [
        folder.write("compare.csv", as_csv(found, columns)),
        folder.write("compare.json", text + "\n"),
    ]
    if as_json:
        print(text)
        return
    if found.question:
        print(found.question)
    show_tables(*tables)
    print(explanation)
    for words in found.warnings:
        say(f"warning: {words}")
    print("written: " + ", ".join(map(str, files)))
