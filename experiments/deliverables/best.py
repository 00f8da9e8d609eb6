"""A run's best kernel with all that its deliverables are made from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from codegen.export.kernel import Kernel, Origin
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import read_events
from experiments.runs.options.config import RunConfig
from experiments.runs.tasks.files import TaskSource
from experiments.views import summary
from mcts.domain import Candidate, KernelTask, Timing
from mcts.errors import InputError
from mcts.journal.record import NodeRecord, Result
from mcts.journal.summary import RunSummary
from mcts.ports import Event


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """A run and the task as it was when the run began; `source` has the task's own files."""

    run_dir: Path
    config: RunConfig
    source: TaskSource
    events: tuple[Event, ...]
    facts: summary.RunFacts
    result: Result

    @property
    def task(self) -> KernelTask:
        return self.source.task

    @property
    def best(self) -> NodeRecord:
        return self.result.best

    @cached_property
    def summary(self) -> RunSummary:
        """The run's figures."""
        return RunSummary.of(self.facts, self.result)

    @property
    def candidate(self) -> Candidate:
        assert self.best.candidate is not None, "the best is a candidate"
        return self.best.candidate

    @property
    def timing(self) -> Timing:
        return self.summary.best.timing

    @cached_property
    def kernel(self) -> Kernel:
        """The best kernel, to be written in other forms."""
        return Kernel(
            task=self.task,
            candidate=self.candidate,
            origin=Origin(
                found=self.found,
                node=self.best.id,
                seed=self.facts.seed,
                architecture=_architecture(self),
            ),
        )

    @property
    def found(self) -> str:
        """``13.91x (95 % interval 13.85 to 14.00) over the baseline on NVIDIA H200``"""
        timing = self.timing
        over = "the baseline" if timing.baseline == "baseline" else timing.baseline
        return (
            f"{timing.speedup:.2f}x (95 % interval {timing.speedup_low:.2f} to "
            f"{timing.speedup_high:.2f}) over {over} on {self.facts.hardware}"
        )


def read_delivery(run_dir: Path) -> Delivery:
    """Read a run, also one that is going on or crashed.

    InputError where the folder is no run or not whole, where its task was changed, or where nothing
    of it was measured yet.
    """
    events = read_events(run_dir)
    folder = RunFolder(run_dir)
    config = folder.config
    try:
        facts, result = summary.facts_of(events), summary.result_of(events)
    except InputError as error:
        raise InputError(f"{run_dir}: {error}") from None
    verdict = result.best.verdict
    if result.best.candidate is None or verdict is None or verdict.timing is None:
        raise InputError(f"{run_dir}: its baseline was not measured: there is nothing to hand over")
    source = _source(folder, config)
    measured = next((event.payload for event in events if event.kind == "started"), {})
    if measured.get("task_id", source.task.id) != source.task.id:
        raise InputError(
            f"{run_dir}: its task is not the one that was measured: put its folder task back as it "
            "was, or start a new run"
        )
    return Delivery(
        run_dir=run_dir,
        config=config,
        source=source,
        events=events,
        facts=facts,
        result=result,
    )


def _source(folder: RunFolder, config: RunConfig) -> TaskSource:
    """The task; a recording that has moved away since is missed only where it is the whole task."""
    try:
        return folder.task(config)
    except InputError:
        if config.recording is None:
            raise
        return folder.task(config.model_copy(update={"recording": None}))


def _architecture(delivery: Delivery) -> str:
    """The compiler's name of the GPU that was measured; `native` if the run does not know it."""
    for node in (delivery.best, delivery.result.baseline):
        profile = node.evaluation.profile if node.evaluation else None
        found = profile.hardware.compute_capability if profile and profile.hardware else None
        if found and re.fullmatch(r"\d+\.\d+", found):
            major, minor = found.split(".")
            return f"sm_{major}{minor}{'a' if int(major) >= 9 else ''}"
    return "native"
