"""`study` and `compare` of searches with a model."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from codegen.chat.queue import waiting
from experiments.app.interrupting import signals_interrupt
from experiments.app.messages import say
from experiments.app.refusals import check_models
from experiments.benchmarks.measurements.asking import same_but_money
from experiments.benchmarks.measurements.reusing import check_reusable
from experiments.benchmarks.measurements.reusing import reuse as reused
from experiments.benchmarks.measurements.scheduling import Tally
from experiments.benchmarks.measurements.session import Session, Show
from experiments.benchmarks.model_studies.comparing import compare_searches
from experiments.benchmarks.model_studies.config import ModelStudy
from experiments.benchmarks.model_studies.folder import ModelPlan, ModelStudyFolder
from experiments.benchmarks.model_studies.running import (
    plan_of,
    refused_tasks,
    replayed,
    run_cells,
)
from experiments.benchmarks.model_studies.tables import as_csv, explanation, tables
from experiments.runs.options import names
from experiments.runs.options.option_conflicts import check_model
from experiments.runs.wiring.choosing import LLM, check_constants, resolve_settings
from experiments.runs.wiring.resolving import rooftree_version
from experiments.text.tables import show as show_table
from experiments.text.tables import width
from mcts.errors import InputError
from mcts.options import JudgingOptions, ModelOptions

Progress = Callable[[str], AbstractContextManager[Show]]
AT_ONCE = 32
"""Runs of a task that go on side by side, unless told otherwise."""


def run(
    asked: ModelStudy,
    *,
    config: str,
    out: Path | None,
    jobs: int | None,
    model: ModelOptions,
    judging: JudgingOptions,
    reuse: Sequence[Path],
    progress: Progress,
) -> None:
    """Go on with the missing runs of a study.

    Raises InputError if the configuration cannot be run. If interrupted, raises KeyboardInterrupt
    with a message that says how to continue.
    """
    for name, arm in asked.arms.items():
        try:
            if arm.proposer == LLM:
                options = asked.options_of(name).changed_by(model)
                if options.name is None:
                    raise InputError("give the model as name in [model]")
                check_model(LLM, options)
                check_models(options)
            else:
                names.load(names.PROPOSERS, arm.proposer)
            resolve_settings(arm.algorithm)
            check_constants(arm.algorithm)
        except InputError as error:
            raise InputError(f"arm {name}: {error}") from None
    for source in reuse:
        check_reusable(source)
    folder = ModelStudyFolder(out or Path("studies") / asked.name)
    again = go_on_words(config, out, model)
    if "evaluator" not in judging.given():
        judging = judging.model_copy(update={"evaluator": asked.evaluator})
    session = Session(model=model, judging=judging, at_once=jobs or AT_ONCE)
    plan = plan_of(asked, version=rooftree_version())
    with folder.held(), signals_interrupt():
        folder.write_plan(plan)
        for source in reuse:
            take_over(source, folder.path)
        say(
            f"{len(plan.keys)} runs of {asked.trials} trials: {len(asked.arms)} arms x "
            f"{len(plan.tasks)} tasks x {asked.seeds} seeds, folder {folder.path}"
        )
        try:
            with progress(asked.name) as show:
                tally = run_cells(plan, folder, session, show=show, say=say)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted, what was run is kept; go on with: {again}"
            ) from None
    _conclude(plan, tally, folder.path, model.queue, again)


def replay(path: Path) -> None:
    """Run the ended searches of a folder again from what it holds; InputError if one differs."""
    folder = ModelStudyFolder(path)
    lines = {line.key: line for line in folder.lines()}
    found = 0
    for line in replayed(folder.plan(), folder):
        if not same_but_money(line, lines[line.key]):
            raise InputError(
                f"arm {line.arm}, task {line.task}, seed {line.seed} comes out otherwise: this "
                "Rooftree searches, asks or measures differently"
            )
        found += 1
    if not found:
        raise InputError(
            f"no run of {path} can be taken again: it has none, or they are of another version"
        )
    print(f"{found} runs come out as they were, to the digit, without model and GPU")


def compare(path: Path, *, reference: str | None, as_json: bool) -> None:
    """Write compare.csv and compare.json into the study's folder, and print."""
    folder = ModelStudyFolder(path)
    found = compare_searches(folder.plan(), folder.lines(), reference=reference)
    text = json.dumps(found.model_dump(mode="json"), ensure_ascii=False)
    files = [
        folder.write("compare.csv", as_csv(found)),
        folder.write("compare.json", text + "\n"),
    ]
    if as_json:
        print(text)
        return
    if found.question:
        print(found.question)
    show_table(*tables(found, width=width()))
    print(explanation(found))
    for words in found.warnings:
        say(f"warning: {words}")
    print("written: " + ", ".join(map(str, files)))


def go_on_words(config: str, out: Path | None, model: ModelOptions) -> str:
    """The command that goes on with a study."""
    words = ["rooftree", "study", config]
    if out is not None:
        words += ["-o", str(out)]
    if model.queue is not None:
        words += ["--llm-queue", str(model.queue)]
    return shlex.join(words)


def take_over(source: Path, folder: Path) -> None:
    """Take over what another study asked and measured."""
    answers, measurements = reused(source, folder)
    say(f"taken over from {source}: {answers} answers, {measurements} measurements")


def waiting_words(pending: str, queue: Path | None, again: str) -> str:
    """What waits for an answer, where, and how to go on."""
    place = f" in {queue}: {len(waiting(queue))} questions" if queue is not None else ""
    return f"{pending} wait for an answer{place}; then go on with: {again}"


def _conclude(plan: ModelPlan, tally: Tally, folder: Path, queue: Path | None, again: str) -> None:
    """Say what was done, and what is left to do."""
    say(f"{tally.done} runs done")
    for task, why in refused_tasks(plan, tally).items():
        say(f"left out: {task}: {why}")
    if tally.pending:
        say(waiting_words(f"{tally.pending} runs", queue, again))
    print(f"compare with: rooftree compare {shlex.quote(str(folder))}")
