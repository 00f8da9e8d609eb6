"""`study` and `compare` of one-step studies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.app.messages import say
from experiments.app.refusals import check_models
from experiments.benchmarks.measurements.session import Session
from experiments.benchmarks.one_step.comparing import compare_steps
from experiments.benchmarks.one_step.config import OneStepStudy
from experiments.benchmarks.one_step.folder import OneStepFolder
from experiments.benchmarks.one_step.nouns import StepContest
from experiments.benchmarks.one_step.parents import find_parents
from experiments.benchmarks.one_step.running import (
    keep_parents,
    plan_of,
    replayed,
    run_steps,
)
from experiments.benchmarks.one_step.tables import arm_table, explanation, step_contest_table
from experiments.cli.commands.studies_with_model import (
    Progress,
    check_replayed,
    conclude,
    go_on_words,
    going_on,
    judged_by,
    show_comparison,
)
from experiments.runs.options.option_conflicts import check_model
from experiments.runs.wiring.choosing import LLM
from experiments.runs.wiring.resolving import rooftree_version
from experiments.text.tables import width
from mcts.errors import InputError
from mcts.options import JudgingOptions, ModelOptions

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
    folder = OneStepFolder(out or Path("studies") / asked.name)
    again = go_on_words(config, out, model)
    session = Session(
        model=model, judging=judged_by(judging, asked.evaluator), at_once=jobs or AT_ONCE
    )
    parents = find_parents(asked.parents)
    plan = plan_of(asked, parents, version=rooftree_version())
    with going_on(folder, plan, reuse, again=again):
        keep_parents(folder.path, parents)
        say(
            f"{len(plan.keys)} steps: {len(asked.arms)} arms x {len(plan.parents)} parents x "
            f"{asked.replies} repl{'y' if asked.replies == 1 else 'ies'}, folder {folder.path}"
        )
        with progress(asked.name) as show:
            tally = run_steps(plan, folder, session, show=show, say=say)
    say(f"{tally.done} steps done")
    if tally.left_out:
        say(f"{len(tally.left_out)} steps left out: their parents fail here")
    conclude(folder.path, pending=tally.pending, units="steps", queue=model.queue, again=again)


def replay(path: Path) -> None:
    """Take the steps of a folder again from what it holds; InputError if a line differs."""
    folder = OneStepFolder(path)
    check_replayed(
        folder,
        replayed(folder.plan(), folder),
        place_of=lambda line: f"arm {line.arm}, parent {line.parent}, reply {line.reply}",
        units="steps",
        does="asks or measures",
    )


def compare(path: Path, *, reference: str | None, as_json: bool) -> None:
    """Write compare.csv and compare.json into the study's folder, and print."""
    folder = OneStepFolder(path)
    found = compare_steps(folder.plan(), folder.lines(), reference=reference)
    shown = [arm_table(found, width=width()), step_contest_table(found, width=width())]
    show_comparison(
        folder, found, columns=StepContest, tables=shown, explanation=explanation(found),
        as_json=as_json,
    )  # fmt: skip
