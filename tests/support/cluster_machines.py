"""Machines of a cluster for tests, as factories that its workers import by name."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from distributed import get_worker

from experiments.cluster.evaluator import SLOTS
from experiments.cluster.work import UnfitMachine
from mcts.domain import Candidate, Evaluation, Hardware, KernelTask, Profile
from mcts.errors import InputError, NotRecorded, WorldError
from mcts.options import JudgingOptions
from mcts.ports import Evaluator
from mcts.testing.toy import ToyEvaluator

KILLS = {"BLOCK": 32, "TILE": 32, "UNROLL": 1}
"""Values of a candidate that ends the worker which judges it."""
HANGS = {"BLOCK": 32, "TILE": 16, "UNROLL": 1}
"""Values of one that is judged for a minute."""
MARKS = "ROOFTREE_TEST_MARKS"
"""The folder in which workers leave what they do."""


class Machine(ToyEvaluator):
    """The toy, with candidates that end or hold up the worker; it notes who judged what."""

    can_confirm = True

    def evaluate(self, candidate: Candidate) -> Evaluation:
        _mark("judged", candidate.id)
        if candidate.tunables == KILLS:
            os.kill(os.getpid(), signal.SIGKILL)
        if candidate.tunables == HANGS:
            time.sleep(60)
        return super().evaluate(candidate)

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        return self.evaluate(candidate).model_copy(update={"notes": ("confirmed",)})


class Other(Machine):
    hardware = Hardware(name="another device")


class Broken(Machine):
    """Breaks the first time that it is asked on a worker."""

    def evaluate(self, candidate: Candidate) -> Evaluation:
        if not _mark("broke", "once"):
            raise WorldError("the GPU has fallen off the bus")
        return super().evaluate(candidate)


class Meeting(Machine):
    """Judges nobody before so many are being judged as a device takes at once."""

    def __init__(self) -> None:
        super().__init__()
        self._met = threading.Barrier(SLOTS)

    def evaluate(self, candidate: Candidate) -> Evaluation:
        self._met.wait(30)
        return super().evaluate(candidate)


class Naming(Machine):
    """Its profiles say whose they are and who made them."""

    def profile_many(self, candidates: Sequence[Candidate]) -> list[Profile]:
        time.sleep(0.2)
        return [
            Profile(missing={"candidate": one.id, "worker": get_worker().address})
            for one in candidates
        ]


class Forgetful(Machine):
    """Knows nothing but the baseline."""

    def evaluate(self, candidate: Candidate) -> Evaluation:
        if candidate != self.task.baseline:
            raise NotRecorded("it was never recorded")
        return super().evaluate(candidate)


def toy(task: KernelTask, judging: JudgingOptions, seed: int) -> Evaluator:
    _mark("prepared", get_worker().address.rpartition(":")[2])
    return Machine()


def mixed(task: KernelTask, judging: JudgingOptions, seed: int) -> Evaluator:
    """The first worker that is asked has one device, the others another."""
    return Machine() if _is_first() else Other()


def picky(task: KernelTask, judging: JudgingOptions, seed: int) -> Evaluator:
    """Only the first worker that is asked can judge."""
    if not _is_first():
        raise UnfitMachine("no GPU here")
    return Machine()


def unfit(task: KernelTask, judging: JudgingOptions, seed: int) -> Evaluator:
    raise UnfitMachine("no GPU here")


def refusing(task: KernelTask, judging: JudgingOptions, seed: int) -> Evaluator:
    raise InputError("the task is wrong")


def faulty(task: KernelTask, judging: JudgingOptions, seed: int) -> Evaluator:
    """A plug-in's own fault."""
    raise ValueError("a list where\nnone was thought of")


def breaking(task: KernelTask, judging: JudgingOptions, seed: int) -> Evaluator:
    return Broken()


def meeting(task: KernelTask, judging: JudgingOptions, seed: int) -> Evaluator:
    return Meeting()


def naming(task: KernelTask, judging: JudgingOptions, seed: int) -> Evaluator:
    return Naming()


def forgetful(task: KernelTask, judging: JudgingOptions, seed: int) -> Evaluator:
    return Forgetful()


def marks(kind: str) -> list[str]:
    """What workers left of a kind."""
    return sorted(path.name for path in Path(os.environ[MARKS]).glob(f"{kind}-*"))


def _mark(kind: str, what: str) -> bool:
    """Leave a mark; whether it was there before."""
    path = Path(os.environ[MARKS]) / f"{kind}-{what}"
    known = path.exists()
    path.touch()
    return known


def _is_first() -> bool:
    """Whether this worker is the one that came first to be asked."""
    place = Path(os.environ[MARKS]) / "first"
    mine = get_worker().address
    try:
        with place.open("x") as file:
            file.write(mine)
    except FileExistsError:
        return place.read_text() == mine
    return True
