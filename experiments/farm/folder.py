"""The folder that submitters and workers share, and every change that may happen in it.

tasks/    task-....json                     tasks, by the hash of their content
queue/    job-....ATTEMPT.json              jobs nobody has taken
taken/    job-....ATTEMPT.WORKER.json       jobs being worked on
done/     job-....json                      answers; the first one stays
workers/  ID.json                           heartbeats
broken/                                     what was none of these, each with its reason
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

from experiments.farm import files
from experiments.farm.head import HEAD_NAME, LEASE_S, FolderHead, permissions, read_head
from experiments.farm.jobs import MAX_ATTEMPTS, Answer, Heartbeat, Job, Problem, Ticket
from experiments.farm.shelf import Shelf
from mcts.domain import KernelTask
from mcts.errors import InputError, WorldError

_DAY_S = 86400.0
_PLACES = ("tasks", "queue", "taken", "done", "workers", "broken")
Place = Literal["queue", "taken", "done"]


class JobFolder:
    """A folder of jobs, made where it alone is absent, for its owner alone. Thread-safe.

    `made` says whether this object made it: it may be a name mistyped, which nobody else looks
    into. A worker whose heart stops for `lease_s` seconds loses its job; the first to open the
    folder decides. `on_broken` hears of every file that is put aside.

    Raises InputError for a folder that others can write to, unless `unsafe`, that holds something
    else, or whose parent is not there; WorldError, from every method, where the file system fails.
    """

    def __init__(
        self,
        path: Path,
        *,
        lease_s: float = LEASE_S,
        unsafe: bool = False,
        on_broken: Callable[[str], None] | None = None,
    ) -> None:
        self.path = path.absolute()
        self.made = False
        self._shelf = Shelf(self.path / "broken", on_broken or (lambda _text: None))
        try:
            self._open(FolderHead(lease_s=lease_s), unsafe=unsafe)
        except OSError as error:
            raise InputError(f"cannot use the job folder {path}: {error.strerror}") from None

    def _open(self, head: FolderHead, *, unsafe: bool) -> None:
        if not self.path.exists():
            with suppress(FileExistsError):  # somebody else was quicker
                self._make()
        bits = permissions(self.path, unsafe=unsafe)
        self._mode = self._shelf.mode = bits & 0o666 | 0o600
        there = files.names_in(self.path)
        if there and HEAD_NAME not in there:
            raise InputError(
                f"{self.path} is no job folder, and not empty: name a new or empty folder"
            )
        files.create(self.path / HEAD_NAME, head.model_dump_json().encode(), mode=self._mode)
        self.lease_s = read_head(self.path / HEAD_NAME).lease_s
        for name in _PLACES:
            place = self.path / name
            with suppress(FileExistsError):
                place.mkdir(mode=0o700)
                place.chmod(bits & 0o2777 | 0o700)
            permissions(place, unsafe=unsafe)

    def _make(self) -> None:
        if not self.path.parent.exists():
            raise InputError(
                f"cannot make the job folder {self.path}: {self.path.parent} does not exist; make "
                "it first, or name another folder"
            )
        self.path.mkdir(mode=0o700)
        self.made = True

    # Tasks.

    def put_task(self, task: KernelTask) -> None:
        """Write a task where it is missing or damaged."""
        path, data = self._task_path(task.id), task.model_dump_json().encode()
        try:
            same = files.read(path) == data
        except files.Malformed as error:
            self._shelf.put_aside(path, str(error))
            same = False
        if not same:
            files.replace(path, data, mode=self._mode)

    def task(self, task_id: str) -> KernelTask | None:
        """A job's task; None where it is missing or damaged."""
        return self._shelf.load(
            self._task_path(task_id), KernelTask, lambda task: task.id == task_id
        )

    def _task_path(self, task_id: str) -> Path:
        return self.path / "tasks" / f"{task_id}.json"

    # A job's way: queue -> taken -> done, or back to the queue.

    def submit(self, job: Job) -> None:
        """Put a job into the queue."""
        data = job.model_dump_json(exclude_defaults=True).encode()
        if len(data) > files.MAX_BYTES:
            raise WorldError(f"{job} is larger than {files.MAX_BYTES} bytes: it was not submitted")
        files.create(self._path("queue", Ticket(job.id).name), data, mode=self._mode)

    def find(self, job_id: str) -> Place | None:
        """Where a job is. Looked for twice, because it may move on while it is looked for."""
        for _ in range(2):
            if any(ticket.job_id == job_id for ticket in self.queued()):
                return "queue"
            if any(ticket.job_id == job_id for ticket in self.taken()):
                return "taken"
            if self.is_done(job_id):
                return "done"
        return None

    def queued(self) -> list[Ticket]:
        return self._tickets("queue")

    def taken(self) -> list[Ticket]:
        return self._tickets("taken")

    def job(self, ticket: Ticket) -> Job | None:
        """The job of a ticket; None when it has gone, or was broken."""

        def check(job: Job) -> bool:
            return job.id == ticket.job_id and (job.candidate is None or bool(job.candidate.id))

        return self._shelf.load(self._path(_place(ticket), ticket.name), Job, check)

    def take(self, ticket: Ticket, worker: str) -> Ticket | None:
        """Take a queued job; None where somebody else was quicker, or it has an answer."""
        mine = Ticket(ticket.job_id, ticket.attempt, worker)
        source = self._path("queue", ticket.name)
        if not files.move(source, self._path("taken", mine.name)):
            return None
        if self.is_done(ticket.job_id):
            self.drop(mine)
            return None
        return mine

    def give_back(self, ticket: Ticket) -> None:
        """Put a taken job back as it was."""
        back = Ticket(ticket.job_id, ticket.attempt)
        files.move(self._path("taken", ticket.name), self._path("queue", back.name))

    def fail(self, ticket: Ticket, reason: str) -> bool:
        """A taken job was not answered: queue it again, or after `MAX_ATTEMPTS` say so.

        Whether it was queued again.
        """
        if self.is_done(ticket.job_id):
            self.drop(ticket)
            return False
        if ticket.attempt < MAX_ATTEMPTS:
            again = Ticket(ticket.job_id, ticket.attempt + 1)
            files.move(self._path("taken", ticket.name), self._path("queue", again.name))
            return True
        if (job := self.job(ticket)) is not None:
            text = f"{MAX_ATTEMPTS} workers took the job and did not answer; the last: {reason}"
            problem = Problem(kind="WorldError", message=text)
            worker = ticket.worker or ""
            self.answer(Answer(job_id=job.id, kind=job.kind, worker=worker, problem=problem))
            self.drop(ticket)
        return False

    def answer(self, answer: Answer) -> bool:
        """Write an answer; False, and nothing changes, where the job already has one."""
        data = answer.model_dump_json(exclude_defaults=True).encode()
        if len(data) > files.MAX_BYTES:
            text = f"the answer has {len(data)} bytes; {files.MAX_BYTES} are allowed"
            problem = Problem(kind="WorldError", message=text)
            short = {"evaluation": None, "profile": None, "problem": problem}
            data = answer.model_copy(update=short).model_dump_json().encode()
        return files.create(self._done_path(answer.job_id), data, mode=self._mode)

    def drop(self, ticket: Ticket) -> None:
        """Remove a ticket whose job needs nothing more."""
        files.remove(self._path(_place(ticket), ticket.name))

    def is_done(self, job_id: str) -> bool:
        return self._done_path(job_id).exists()

    def answer_to(self, job: Job) -> Answer | None:
        """The answer to a job, if there is one; one that does not fit the job is put aside."""

        def fits(answer: Answer) -> bool:
            found, asked = answer.evaluation, job.candidate
            same = found is None or asked is None or found.candidate_id == asked.id
            return answer.job_id == job.id and answer.kind == job.kind and same

        return self._shelf.load(self._done_path(job.id), Answer, fits)

    def reject(self, job_id: str, reason: str) -> None:
        """Put a job's answer aside, so that another may come."""
        self._shelf.put_aside(self._done_path(job_id), reason)

    def forget(self, job_id: str) -> None:
        """Remove a job's answer: an error that was heard must not meet the next who asks."""
        files.remove(self._done_path(job_id))

    def withdraw(self, *job_ids: str) -> None:
        """Take jobs out of the queue; those that are being worked on go on."""
        for ticket in self.queued():
            if ticket.job_id in job_ids:
                self.drop(ticket)

    def forget_run(self, mark: str) -> None:
        """Remove all jobs and answers of the run with this mark, which waits for none.

        Jobs in hand go too: they are second attempts at what another worker has answered.
        """
        for ticket in [*self.queued(), *self.taken()]:
            if ticket.job_id.startswith(mark):
                self.drop(ticket)
        for name in files.names_in(self.path / "done"):
            if name.startswith(mark):
                files.remove(self._path("done", name))

    # Heartbeats.

    def beat(self, heartbeat: Heartbeat) -> None:
        path = self._path("workers", heartbeat.file_name)
        files.replace(path, heartbeat.model_dump_json().encode(), mode=self._mode, durable=False)

    def heartbeats(self) -> list[tuple[Heartbeat, float]]:
        """All there are, each with its file's modification time in seconds."""
        found = []
        for name in files.names_in(self.path / "workers"):
            path = self._path("workers", name)
            heartbeat = self._shelf.load(path, Heartbeat, partial(_is_named, name))
            with suppress(OSError):
                if heartbeat is not None:
                    found.append((heartbeat, path.stat().st_mtime))
        return found

    def leave(self, member: str) -> None:
        """Remove a heartbeat."""
        files.remove(self._path("workers", f"{member}.json"))

    def clock(self) -> float:
        """Now, in seconds, as the file system that keeps the heartbeats tells it."""
        return files.clock(self.path / "workers")

    def sweep(self) -> None:
        """Remove what was left half written a day ago."""
        for name in _PLACES:
            files.sweep(self.path / name, older_than=self.clock() - _DAY_S)

    # What is no job of ours.

    def _tickets(self, place: Literal["queue", "taken"]) -> list[Ticket]:
        found = []
        for name in files.names_in(self.path / place):
            ticket = Ticket.parse(name)
            if ticket is not None and _place(ticket) == place:
                if not self._shelf.is_stuck(self._path(place, name)):
                    found.append(ticket)
            else:
                self._shelf.put_aside(self._path(place, name), "its name is no job's")
        return found

    def _path(self, place: str, name: str) -> Path:
        return self.path / place / name

    def _done_path(self, job_id: str) -> Path:
        return self.path / "done" / f"{job_id}.json"


def _place(ticket: Ticket) -> Literal["queue", "taken"]:
    return "queue" if ticket.worker is None else "taken"


def _is_named(name: str, heartbeat: Heartbeat) -> bool:
    return heartbeat.file_name == name
