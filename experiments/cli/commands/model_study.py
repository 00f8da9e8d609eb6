"""`study` and `compare` of searches with a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.app.messages import say
from experiments.app.refusals import check_models
from experiments.benchmarks.measurements.session import Session
from experiments.benchmarks.model_studies.comparing import compare_searches
from experiments.benchmarks.model_studies.config import ModelStudy
from experiments.benchmarks.model_studies.folder import ModelStudyFolder
from experiments.benchmarks.model_studies.nouns import ModelContest
from experiments.benchmarks.model_studies.running import (
    plan_of,
    refused_tasks,
    replayed,
    run_cells,
)
from experiments.benchmarks.model_studies.tables import explanation, tables
from experiments.cli.commands.studies_with_model import (
    Progress,
    check_replayed,
    conclude,
    go_on_words,
    going_on,
    judged_by,
    show_comparison,
)
from experiments.runs.options import names
from experiments.runs.options.option_conflicts import check_model
from experiments.runs.wiring.choosing import LLM, check_constants, resolve_settings
from experiments.runs.wiring.resolving import rooftree_version
from experiments.text.tables import width
from mcts.errors import InputError
from mcts.options import JudgingOptions, ModelOptions

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
    folder = ModelStudyFolder(out or Path("studies") / asked.name)
    again = go_on_words(config, out, model)
    session = Session(
        model=model, judging=judged_by(judging, asked.evaluator), at_once=jobs or AT_ONCE
    )
    plan = plan_of(asked, version=rooftree_version())
    with going_on(folder, plan, reuse, again=again):
        say(
            f"{len(plan.keys)} runs of {asked.trials} trials: {len(asked.arms)} arms x "
            f"{len(plan.tasks)} tasks x {asked.seeds} seeds, folder {folder.path}"
        )
        with progress(asked.name) as show:
            tally = run_cells(plan, folder, session, show=show, say=say)
    say(f"{tally.done} runs done")
    for task, why in refused_tasks(plan, tally).items():
        say(f"left out: {task}: {why}")
    conclude(folder.path, pending=tally.pending, units="runs", queue=model.queue, again=again)


def replay(path: Path) -> None:
    """Run the ended searches of a folder again from what it holds; InputError if one differs."""
    folder = ModelStudyFolder(path)
    check_replayed(
        folder,
        replayed(folder.plan(), folder),
        place_of=lambda line: f"arm {line.arm}, task {line.task}, seed {line.seed}",
        units="runs",
        does="searches, asks or measures",
    )


def compare(path: Path, *, reference: str | None, as_json: bool) -> None:
    """Write compare.csv and compare.json into the study's folder, and print."""
    folder = ModelStudyFolder(path)
    found = compare_searches(folder.plan(), folder.lines(), reference=reference)
    show_comparison(
        folder, found, columns=ModelContest, tables=tables(found, width=width()),
        explanation=explanation(found), as_json=as_json,
    )  # fmt: skip
