"""What lies in the folder: jobs, answers and heartbeats, all JSON, all checked when read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field, model_validator

from mcts.domain import (
    Candidate,
    Evaluation,
    Hardware,
    KernelTask,
    Noun,
    Profile,
    tagged_hash,
)
from mcts.errors import InputError, NotRecorded, RooftreeError, WorldError

JobKind = Literal["prepare", "evaluate", "profile", "confirm", "energy"]
Ability = Literal["confirm", "energy"]
Role = Literal["worker", "submitter"]
MAX_ATTEMPTS = 3
"""How often a job may be taken without being answered, before that is its answer."""
JOB_ID = r"job-[0-9a-f]{32}"
TASK_ID = r"task-[0-9a-f]{16}"
MEMBER_ID = r"[a-z0-9-]{1,80}"
_TICKET = re.compile(rf"({JOB_ID})\.([1-9])(?:\.({MEMBER_ID}))?\.json")


class Terms(Noun):
    """How a task is to be measured, where that is the submitter's choice.

    compiled: `torch.compile` is the baseline. ungated: a task that fails its gate is marked, not
    refused. What a worker's machine is exposed to is the worker's choice and not among them.
    """

    compiled: bool = False
    ungated: bool = False


class Job(Noun):
    """One question to an evaluator of the task `task_id`.

    prepare: build the evaluator, say what hardware it measures on and what it can do besides.
    evaluate: judge `candidate`. profile, confirm, energy: look again at a candidate that was judged
    as `evaluation`. `hardware` is what must answer, as `hardware_kind` words it; None where any
    may. `submitted_at` is the submitter's clock, for people to read.
    """

    id: str = Field(pattern=rf"^{JOB_ID}$")
    task_id: str = Field(pattern=rf"^{TASK_ID}$")
    kind: JobKind
    terms: Terms = Terms()
    candidate: Candidate | None = None
    evaluation: Evaluation | None = None
    hardware: str | None = None
    submitted_at: str = ""

    @model_validator(mode="after")
    def _kind_decides(self) -> Self:
        if (self.candidate is None) != (self.kind == "prepare"):
            raise ValueError(f"a job of kind {self.kind} has the wrong candidate: {self.candidate}")
        if (self.evaluation is None) != (self.kind in ("prepare", "evaluate")):
            raise ValueError(f"a job of kind {self.kind} has the wrong evaluation")
        return self

    @property
    def setup(self) -> Setup:
        """What an evaluator is built for: jobs that share it can share one."""
        return self.task_id, self.terms

    def __str__(self) -> str:
        what = "" if self.candidate is None else f" {self.candidate.id}"
        return f"{self.kind}{what}"


Setup = tuple[str, Terms]


class Problem(Noun):
    """An error that is the answer, to be raised again where the question came from."""

    kind: Literal["WorldError", "InputError", "NotRecorded"]
    message: str

    @classmethod
    def of(cls, error: WorldError | InputError | NotRecorded) -> Self:
        for kind, type_ in _ERRORS.items():
            if isinstance(error, type_):
                return cls.model_validate({"kind": kind, "message": str(error)})
        raise TypeError(f"{type(error).__name__} is no answer")

    def error(self) -> RooftreeError:
        return _ERRORS[self.kind](self.message)


_ERRORS: dict[str, type[WorldError] | type[InputError] | type[NotRecorded]] = {
    "WorldError": WorldError,
    "InputError": InputError,
    "NotRecorded": NotRecorded,
}


class Answer(Noun):
    """What came of a job: the part its kind calls for, or a problem.

    `hardware` is what the evaluator measures on; None where none could be built.
    """

    job_id: str = Field(pattern=rf"^{JOB_ID}$")
    kind: JobKind
    worker: str
    hardware: Hardware | None = None
    abilities: tuple[Ability, ...] = ()
    evaluation: Evaluation | None = None
    profile: Profile | None = None
    problem: Problem | None = None

    @model_validator(mode="after")
    def _kind_decides(self) -> Self:
        solved = self.problem is None
        if (self.evaluation is not None) != (solved and self.kind in _JUDGING):
            raise ValueError(f"an answer of kind {self.kind} has the wrong evaluation")
        if (self.profile is not None) != (solved and self.kind == "profile"):
            raise ValueError(f"an answer of kind {self.kind} has the wrong profile")
        if solved and self.hardware is None:
            raise ValueError("an answer says what hardware it was measured on")
        return self


_JUDGING: frozenset[JobKind] = frozenset({"evaluate", "confirm", "energy"})


class Heartbeat(Noun):
    """A worker or submitter that lives: written anew every few seconds, `beat` counting up.

    `hardware` is known once a worker has built an evaluator; for a submitter it is what its task
    is measured on. `unfit` is why a worker cannot judge a task, by its id. `doing` is for people to
    read.
    """

    id: str = Field(pattern=rf"^{MEMBER_ID}$")
    role: Role
    beat: int = Field(ge=0)
    host: str = ""
    pid: int = 0
    device: int | None = None
    hardware: str | None = None
    task_id: str | None = None
    doing: str = ""
    unfit: dict[str, str] = {}

    @property
    def file_name(self) -> str:
        return f"{self.id}.json"


@dataclass(frozen=True, slots=True)
class Ticket:
    """A job's place in the folder, which is its file name: the attempt, and who took it.

    The file's content never changes; what happens to a job is a rename, hence atomic.
    """

    job_id: str
    attempt: int = 1
    worker: str | None = None

    @property
    def name(self) -> str:
        taken_by = "" if self.worker is None else f".{self.worker}"
        return f"{self.job_id}.{self.attempt}{taken_by}.json"

    @classmethod
    def parse(cls, name: str) -> Ticket | None:
        """The ticket with this file name; None where it is no ticket's."""
        found = _TICKET.fullmatch(name)
        return None if found is None else cls(found[1], int(found[2]), found[3])


def run_mark(run_id: str) -> str:
    """What the ids of a run's jobs begin with."""
    return tagged_hash("job", {"run": run_id}, digits=8)


def job_id(
    *,
    run_id: str,
    task: KernelTask,
    kind: JobKind,
    terms: Terms,
    candidate: Candidate | None,
    evaluation: Evaluation | None,
    ordinal: int,
) -> str:
    """The same question of the same run has the same id, so that a resumed run finds its answer.

    It begins with the run's mark. Nobody who does not know `run_id` can tell the other 24 hex
    digits, 96 bits, beforehand.
    """
    content = {
        "run": run_id,
        "task": task.id,
        "kind": kind,
        "terms": terms.model_dump(),
        "candidate": candidate and candidate.id,
        "evaluation": evaluation and evaluation.model_dump_json(),
        "ordinal": ordinal,
    }
    return run_mark(run_id) + tagged_hash("job", content, digits=24).removeprefix("job-")


def hardware_kind(hardware: Hardware) -> str:
    """What two devices must share for their times to be compared, as one line."""
    parts = [str(hardware)]
    if hardware.compute_capability is not None:
        parts.append(f"compute capability {hardware.compute_capability}")
    if hardware.multiprocessors is not None:
        parts.append(f"{hardware.multiprocessors} multiprocessors")
    return ", ".join(parts)
