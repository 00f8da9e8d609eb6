"""A study on recorded expansions: the facts of its trees, and a search on one of them as a cell."""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path

from experiments.benchmarks.expansions.file import read_expansions
from experiments.benchmarks.expansions.policy import run_policy
from experiments.benchmarks.expansions.replay import Replay
from experiments.benchmarks.expansions.tree import ExpansionTree
from experiments.benchmarks.studies.arms import check_searches, settings_of
from experiments.benchmarks.studies.cell import Cell, CellResult
from experiments.benchmarks.studies.config import ALL, Arm, Study
from experiments.benchmarks.studies.recorded_task import TaskFacts
from experiments.text.words import did_you_mean
from mcts.errors import InputError
from mcts.loop.optimizer import Budget
from mcts.loop.reward import RewardSettings
from mcts.search.port import SearchSettings


def facts_of(study: Study) -> tuple[TaskFacts, ...]:
    """The facts of the study's trees. InputError for a file, task or arm that cannot be run."""
    assert study.expansions is not None, "its configuration was checked"
    check_searches(study)
    trees = {replay.tree.task: replay.tree for replay in _replays(study.expansions)}
    names = tuple(trees) if study.tasks == (ALL,) else study.tasks
    for name in names:
        if name not in trees:
            hint = did_you_mean(name, trees, behind=" ")
            raise InputError(
                f"{study.expansions} holds no task {name!r}; {hint}it holds {', '.join(trees)}"
            )
    return tuple(_facts(study, trees[name]) for name in names)


def _facts(study: Study, tree: ExpansionTree) -> TaskFacts:
    assert study.expansions is not None and isinstance(study.budget, int)
    root = tree.by_id[tree.root].evaluation
    assert root is not None and root.timing is not None, "a tree's baseline was measured"
    return TaskFacts(
        given=study.expansions,
        name=tree.task,
        task_id=tree.task_id,
        recording_sha256=tree.content_id,
        hardware=tree.hardware,
        valid=len(tree.replies) - tree.failed,
        failed=tree.failed,
        baseline_us=root.timing.median_us,
        budget=study.budget,
        length=max(study.budget, *study.at, 1),
        recorded_best=tree.best,
    )


def run_cell(cell: Cell) -> CellResult:
    """One search on one tree with one seed, with nothing written to disk.

    InputError if the file holds another tree by now.
    """
    began = time.perf_counter()
    replay = _replay(cell.facts)
    search, reward = _settings(cell.spec.model_dump_json(), cell.facts.length)
    found = run_policy(
        replay,
        search=search,
        reward=reward,
        seed=cell.seed,
        budget=Budget(evaluations=cell.facts.length, stop_within=cell.spec.stop_within),
        parallel=cell.spec.parallel,
    )
    return CellResult(
        key=cell.key,
        arm=cell.arm,
        task=cell.task,
        seed=cell.seed,
        best=found.best,
        to_target=None,
        unique=found.result.evaluations,
        failed=found.result.failed,
        trials=found.result.evaluations,
        stopped=found.result.stop_reason,
        digest=found.result.tree_digest,
        seconds=round(time.perf_counter() - began, 3),
        missing=found.missing,
    )


def summary_of(facts: TaskFacts) -> str:
    """One line about a task of a study."""
    return (
        f"{facts.name}: {facts.valid} replies measured and {facts.failed} failed, best "
        f"{facts.best:.2f}x, runs of {facts.length} trials"
    )


@lru_cache(maxsize=256)
def _settings(arm: str, length: int) -> tuple[SearchSettings, RewardSettings]:
    """The constants of an arm, given as JSON: looking its search up takes longer than a run."""
    return settings_of(Arm.model_validate_json(arm), length=length)


def _replay(facts: TaskFacts) -> Replay:
    for replay in _replays(facts.given):
        if replay.tree.content_id == facts.recording_sha256:
            return replay
    raise InputError(f"{facts.given} has changed since the study began: run it again")


def _replays(path: str) -> tuple[Replay, ...]:
    try:
        found = Path(path).stat()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    return _loaded(path, (found.st_ino, found.st_mtime_ns, found.st_size))


@lru_cache(maxsize=8)
def _loaded(path: str, version: tuple[int, ...]) -> tuple[Replay, ...]:
    """The trees of a file in this version of it."""
    return tuple(map(Replay, read_expansions(Path(path))))
