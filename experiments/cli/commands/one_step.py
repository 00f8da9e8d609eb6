"""`study` and `compare` of one-step studies."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from experiments.app.interrupting import signals_interrupt
from experiments.app.messages import say
from experiments.app.refusals import check_models
from experiments.benchmarks.measurements.asking import same_but_money
from experiments.benchmarks.measurements.reusing import check_reusable
from experiments.benchmarks.measurements.scheduling import Tally
from experiments.benchmarks.measurements.session import Session, Show
from experiments.benchmarks.one_step.comparing import compare_steps
from experiments.benchmarks.one_step.config import OneStepStudy
from experiments.benchmarks.one_step.folder import OneStepFolder
from experiments.benchmarks.one_step.parents import find_parents
from experiments.benchmarks.one_step.running import (
    keep_parents,
    plan_of,
    replayed,
    run_steps,
)
from experiments.benchmarks.one_step.tables import arm_table, as_csv, contest_table, explanation
from experiments.cli.commands.model_study import go_on_words, take_over, waiting_words
from experiments.runs.options.option_conflicts import check_model
from experiments.runs.wiring.choosing import LLM
from experiments.runs.wiring.resolving import rooftree_version
from experiments.text.tables import show as show_table
from experiments.text.tables import width
from mcts.errors import InputError
from mcts.options import JudgingOptions, ModelOptions

Progress = Callable[[str], AbstractContextManager[Show]]
AT_ONCE = 64
"""Questions that are asked at a time, unless told otherwise."""


def run(
    asked: OneStepStudy,
    *,
    config: str,
    out: Path | None,
    jobs: int | None,
    model: ModelOptions,
    judging: JudgingOptions,
    reuse: Sequence[Path],
    progress: Progress,
) -> None:
    """Take the missing steps of a study.

    Raises InputError if the configuration cannot be run. If interrupted, raises KeyboardInterrupt
    with a message that says how to continue.
    """
    for arm in asked.arms:
        options = asked.options_of(arm).changed_by(model)
        if options.name is None:
            raise InputError(f"arm {arm}: give the model as name in [model]")
        check_model(LLM, options)
    check_models(asked.model.changed_by(model))
    for source in reuse:
        check_reusable(source)
    folder = OneStepFolder(out or Path("studies") / asked.name)
    again = go_on_words(config, out, model)
    session = Session(
        model=model,
        judging=judging if "evaluator" in judging.given() else _judging(asked, judging),
        at_once=jobs or AT_ONCE,
    )
    parents = find_parents(asked.parents)
    plan = plan_of(asked, parents, version=rooftree_version())
    with folder.held(), signals_interrupt():
        folder.write_plan(plan)
        for source in reuse:
            take_over(source, folder.path)
        keep_parents(folder.path, parents)
        say(
            f"{len(plan.keys)} steps: {len(asked.arms)} arms x {len(plan.parents)} parents x "
            f"{asked.replies} repl{'y' if asked.replies == 1 else 'ies'}, folder {folder.path}"
        )
        try:
            with progress(asked.name) as show:
                tally = run_steps(plan, folder, session, show=show, say=say)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted, what was run is kept; go on with: {again}"
            ) from None
    _conclude(tally, folder.path, model.queue, again)


def replay(path: Path) -> None:
    """Take the steps of a folder again from what it holds; InputError if a line differs."""
    folder = OneStepFolder(path)
    lines = {line.key: line for line in folder.lines()}
    found = 0
    for line in replayed(folder.plan(), folder):
        if not same_but_money(line, lines[line.key]):
            raise InputError(
                f"arm {line.arm}, parent {line.parent}, reply {line.reply} comes out otherwise: "
                "this Rooftree asks or measures differently"
            )
        found += 1
    if not found:
        raise InputError(
            f"no step of {path} can be taken again: it has none, or they are of another version"
        )
    print(f"{found} steps come out as they were, to the digit, without model and GPU")


def compare(path: Path, *, reference: str | None, as_json: bool) -> None:
    """Write compare.csv and compare.json into the study's folder, and print."""
    folder = OneStepFolder(path)
    found = compare_steps(folder.plan(), folder.lines(), reference=reference)
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
    show_table(arm_table(found, width=width()), contest_table(found, width=width()))
    print(explanation(found))
    for words in found.warnings:
        say(f"warning: {words}")
    print("written: " + ", ".join(map(str, files)))


def _judging(asked: OneStepStudy, judging: JudgingOptions) -> JudgingOptions:
    return judging.model_copy(update={"evaluator": asked.evaluator})


def _conclude(tally: Tally, folder: Path, queue: Path | None, again: str) -> None:
    """Say what was done, and what is left to do."""
    say(f"{tally.done} steps done")
    if tally.left_out:
        say(f"{len(tally.left_out)} steps left out: their parents fail here")
    if tally.pending:
        say(waiting_words(f"{tally.pending} steps", queue, again))
    print(f"compare with: rooftree compare {shlex.quote(str(folder))}")
