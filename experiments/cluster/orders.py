"""What goes to a worker of a cluster and what comes back, as JSON that both sides check."""

from __future__ import annotations

from typing import Literal

from mcts.domain import Candidate, Evaluation, Hardware, KernelTask, Noun, Profile
from mcts.errors import InputError, NotRecorded, RooftreeError, WorldError
from mcts.options import JudgingOptions

Kind = Literal["prepare", "evaluate", "profile", "profile_many", "confirm", "energy"]


class Order(Noun):
    """One question to an evaluator of `task`, which a worker builds as `judging` says.

    prepare: say what it measures on, and what it can do besides. evaluate: judge `candidate`.
    profile, confirm, energy: look again at a candidate that was judged as `evaluation`.
    profile_many: all of `candidates`, of which nothing is known. `seed` is for the draws of a
    replay.
    """

    kind: Kind
    task: KernelTask
    judging: JudgingOptions
    seed: int = 0
    candidate: Candidate | None = None
    candidates: tuple[Candidate, ...] = ()
    evaluation: Evaluation | None = None

    def __str__(self) -> str:
        if self.candidates:
            return f"profile {len(self.candidates)} candidates"
        return self.kind if self.candidate is None else f"{self.kind} {self.candidate.id}"


class Problem(Noun):
    """Why there is no answer. `unfit`: this worker cannot judge the task, another may."""

    kind: Literal["unfit", "WorldError", "InputError", "NotRecorded"]
    message: str

    @classmethod
    def of(cls, error: RooftreeError) -> Problem:
        """An error as what it is raised again as."""
        for kind in (NotRecorded, InputError):
            if isinstance(error, kind):
                return cls.model_validate({"kind": kind.__name__, "message": str(error)})
        return cls(kind="WorldError", message=str(error))

    def error(self) -> RooftreeError:
        """The error to raise where the order came from."""
        kinds: dict[str, type[RooftreeError]] = {
            "InputError": InputError,
            "NotRecorded": NotRecorded,
        }
        return kinds.get(self.kind, WorldError)(self.message)


class Report(Noun):
    """What came of an order, from the worker at the address `worker`."""

    worker: str
    hardware: Hardware | None = None
    can_confirm: bool = False
    measures_energy: bool = False
    evaluation: Evaluation | None = None
    profile: Profile | None = None
    profiles: tuple[Profile, ...] = ()
    problem: Problem | None = None


def kind_of(hardware: Hardware) -> str:
    """What two devices must share for their times to be compared, as one line."""
    parts = [str(hardware)]
    if hardware.compute_capability is not None:
        parts.append(f"compute capability {hardware.compute_capability}")
    if hardware.multiprocessors is not None:
        parts.append(f"{hardware.multiprocessors} multiprocessors")
    return ", ".join(parts)
