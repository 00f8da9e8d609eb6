"""`study`: run the arms of a configuration on recorded tasks, in parallel on the cores."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from experiments.app.counting import counted
from experiments.app.interrupting import signals_interrupt
from experiments.app.messages import say
from experiments.benchmarks.model_studies.config import MODEL_SEARCHES, read_model_study
from experiments.benchmarks.one_step.config import ONE_STEP, read_one_step
from experiments.benchmarks.studies.config import (
    SEARCH,
    Study,
    find_study,
    read_study,
    read_table,
)
from experiments.benchmarks.studies.folder import MIXED, Plan, StudyFolder, study_kind
from experiments.benchmarks.studies.kinds import KINDS
from experiments.benchmarks.studies.running import cells_of, cores, plan_of, run_study
from experiments.cli.commands import model_study, one_step
from experiments.runs.wiring.resolving import rooftree_version
from mcts.errors import InputError
from mcts.options import JudgingOptions, ModelOptions


def study(
    config: str,
    *,
    out: Path | None,
    jobs: int | None,
    model: ModelOptions,
    judging: JudgingOptions,
    reuse: Sequence[Path] = (),
    replay: bool = False,
) -> None:
    """Run what is missing of a study; `config` is a file, or the name of a bundled study. With
    `replay` it is the folder of a study with a model. `reuse` are folders of others.

    Raises InputError if the configuration cannot be run. If interrupted, raises KeyboardInterrupt
    with a message that says how to continue.
    """
    if replay:
        if reuse:
            raise InputError("--replay takes steps from the study's own folder: leave --reuse out")
        _replay(Path(config))
        return
    path = find_study(config)
    table = read_table(path)
    if table.get("kind") == ONE_STEP:
        one_step.run(
            read_one_step(table, path),
            config=config, out=out, jobs=jobs, model=model, judging=judging, reuse=reuse,
            progress=_progress,
        )  # fmt: skip
        return
    if table.get("kind") == MODEL_SEARCHES:
        model_study.run(
            read_model_study(table, path),
            config=config, out=out, jobs=jobs, model=model, judging=judging, reuse=reuse,
            progress=_progress,
        )  # fmt: skip
        return
    known = (*KINDS, ONE_STEP, MODEL_SEARCHES)
    if table.get("kind", SEARCH) not in known:
        raise InputError(f"{path}: kind = {table['kind']!r}: one of {', '.join(known)}")
    if given := [*model.given(), *judging.given(), *(["--reuse"] if reuse else [])]:
        raise InputError(f"a study of recordings asks no model and measures nothing: {given[0]}")
    _search(read_study(path), config=config, out=out, jobs=jobs)


def _replay(folder: Path) -> None:
    """Take a folder's study again from what it holds."""
    replays = {ONE_STEP: one_step.replay, MODEL_SEARCHES: model_study.replay}
    kind = study_kind(folder)
    if kind not in replays:
        raise InputError(f"{folder} is not the folder of a study with a model")
    replays[kind](folder)


def _search(asked: Study, *, config: str, out: Path | None, jobs: int | None) -> None:
    """Run the missing runs of a study on recordings."""
    folder = StudyFolder(out or Path("studies") / asked.name)
    plan = plan_of(asked, version=rooftree_version())
    jobs = min(jobs or cores(), len(plan.keys))
    again = f"rooftree study {shlex.quote(config)}"
    if out is not None:
        again += f" -o {shlex.quote(str(out))}"
    with folder.held(), signals_interrupt():
        if _code_changed(folder, plan):
            plan = plan.model_copy(update={"code": MIXED})
            say(
                f"warning: the code has changed since the runs in {folder.path} were done, which "
                "are kept as they are; to have all by this code, name another folder with -o"
            )
        folder.write_plan(plan)
        for facts in plan.tasks:
            say(KINDS[asked.kind].summary(facts))
        say(
            f"{len(cells_of(plan))} runs: {len(asked.arms)} arms x {len(plan.tasks)} tasks x "
            f"{asked.seeds} seeds, {jobs} at a time, folder {folder.path}"
        )
        try:
            with _progress(asked.name) as show:
                count = run_study(plan, folder, jobs=jobs, show=show)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted, what was run is kept; go on with: {again}"
            ) from None
    left = len(plan.keys) - count
    say(f"{count} runs done" + (f", {left} were done before" if left else ""))
    print(f"compare with: rooftree compare {shlex.quote(str(folder.path))}")


def _code_changed(folder: StudyFolder, plan: Plan) -> bool:
    """Whether runs that are there may have come from other code than goes on now."""
    try:
        before = folder.plan()
        return bool(before.code) and before.code != plan.code and any(True for _ in folder.lines())
    except InputError:
        return False


def _progress(name: str) -> AbstractContextManager[Callable[[int, int], None]]:
    return counted(f"study {name}", "runs")
