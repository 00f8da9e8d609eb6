"""An evaluator whose GPUs are elsewhere: it writes jobs into a folder and waits for answers."""

from __future__ import annotations

import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from experiments.farm.crew import Crew
from experiments.farm.folder import JobFolder
from experiments.farm.heart import Heart, Watch
from experiments.farm.jobs import Answer, Job, JobKind, Terms, hardware_kind, job_id, run_mark
from mcts.domain import Candidate, Evaluation, Hardware, KernelTask, Profile
from mcts.errors import WorldError
from mcts.ports import Evaluator

FIRST_PAUSE_S, LAST_PAUSE_S = 0.05, 1.0
LOOK_EVERY_S = 2.0
_MAX_LOST = 3
_NO_TERMS = Terms()


class SpoolEvaluator(Evaluator):
    """Judges candidates of one task by the workers of a folder. Thread-safe.

    Constructing it waits until a first worker has prepared the task; its hardware is then what
    every answer must come from, and workers on other hardware leave this task's jobs alone.
    `run_id` names the run: asked again under the same name, as by a resumed run, a question finds
    the job or the answer that is there already, and is not paid for twice. Without one nothing is
    found again.

    There is no deadline: every 30 seconds `on_progress` is told what is waited for. With `wait_s`,
    so many seconds without any worker are a WorldError. `devices` is how many GPUs the workers had
    that lived when it was constructed. It can confirm and measures energy if the workers'
    evaluator does.

    Raises what the workers' evaluator raised.
    """

    name = "spool"

    def __init__(
        self,
        task: KernelTask,
        folder: JobFolder,
        *,
        run_id: str | None = None,
        terms: Terms = _NO_TERMS,
        wait_s: float | None = None,
        on_progress: Callable[[str], None] | None = None,
    ) -> None:
        self.task = task
        self._folder = folder
        self._terms = terms
        self._run_id = run_id or uuid.uuid4().hex
        self._hardware: Hardware | None = None
        self.devices = 1
        self._asked: Counter[tuple[str, ...]] = Counter()
        self._open: set[str] = set()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._heart = Heart(folder, role="submitter", task_id=task.id)
        self._crew = Crew(
            folder, task_id=task.id, wait_s=wait_s, say=on_progress or (lambda _text: None)
        )
        try:
            self._heart.start()
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        found = self._ask("prepare")
        assert found.hardware is not None, "an answer without a problem has hardware"
        self._hardware = found.hardware
        self._crew.hardware = hardware_kind(found.hardware)
        self._heart.say(hardware=self._crew.hardware)
        self.devices = max(1, len(self._gpus()))
        self.can_confirm = "confirm" in found.abilities
        self.measures_energy = "energy" in found.abilities

    def _gpus(self) -> set[tuple[str, int | None]]:
        """The GPUs of the workers that live and can judge this task; two may share one."""
        watch = Watch(self._folder)
        watch.look()
        return {
            (worker.host, worker.device)
            for worker in watch.alive("worker")
            if self.task.id not in worker.unfit and worker.hardware in (None, self._crew.hardware)
        }

    @property
    def hardware(self) -> Hardware:
        """What the workers measure on, with the ceilings the first of them found."""
        assert self._hardware is not None, "the constructor waits for it"
        return self._hardware

    def evaluate(self, candidate: Candidate) -> Evaluation:
        """The verdict of whichever worker takes the job."""
        return self._judged("evaluate", candidate)

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """The profile by whichever worker takes the job."""
        answer = self._ask("profile", candidate, evaluation)
        assert answer.profile is not None, "an answer of this kind has a profile"
        return answer.profile

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """The verdict of whichever worker judges it afresh."""
        return self._judged("confirm", candidate, evaluation)

    def measure_energy(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """The evaluation with the energy that whichever worker takes the job measures."""
        return self._judged("energy", candidate, evaluation)

    def _judged(
        self, kind: JobKind, candidate: Candidate, evaluation: Evaluation | None = None
    ) -> Evaluation:
        answer = self._ask(kind, candidate, evaluation)
        assert answer.evaluation is not None, "an answer of this kind has an evaluation"
        return answer.evaluation

    def close(self) -> None:
        """Withdraw the jobs nobody has taken; whoever still waits gets a WorldError. Idempotent.

        Jobs being worked on are finished, and found again under the same `run_id`. What the folder
        has of this run is removed, unless somebody still waits or an exception is on its way out:
        what stops so may be resumed, and may not have written down all it heard.
        """
        with self._lock:
            first = not self._closed.is_set()
            self._closed.set()
            waiting, self._open = self._open, set()
        with suppress(WorldError):
            if waiting:
                self._folder.withdraw(*waiting)
            elif first and sys.exception() is None:
                self._folder.forget_run(run_mark(self._run_id))
        self._heart.stop()

    # A question, from the job to its answer.

    def _ask(
        self,
        kind: JobKind,
        candidate: Candidate | None = None,
        evaluation: Evaluation | None = None,
    ) -> Answer:
        job = self._job(kind, candidate, evaluation)
        try:
            answer = self._wait_for(job)
        except BaseException:
            with suppress(WorldError):
                self._folder.withdraw(job.id)
            raise
        finally:
            with self._lock:
                self._open.discard(job.id)
        if answer.problem is not None:
            self._folder.forget(job.id)
            raise answer.problem.error()
        return answer

    def _job(
        self, kind: JobKind, candidate: Candidate | None, evaluation: Evaluation | None
    ) -> Job:
        key = (kind, candidate.id if candidate else "")
        with self._lock:
            if self._closed.is_set():
                raise WorldError(f"{kind} was not submitted: the evaluator is closed")
            ordinal = self._asked[key]
            self._asked[key] += 1
            id = job_id(
                run_id=self._run_id,
                task=self.task,
                kind=kind,
                terms=self._terms,
                candidate=candidate,
                evaluation=evaluation,
                ordinal=ordinal,
            )
            self._open.add(id)
        return Job(
            id=id,
            task_id=self.task.id,
            kind=kind,
            terms=self._terms,
            candidate=candidate,
            evaluation=evaluation,
            hardware=self._crew.hardware,
            submitted_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def _wait_for(self, job: Job) -> Answer:
        """Poll for the answer; put the job into the queue whenever it is nowhere in the folder."""
        pause, looked_at, lost = FIRST_PAUSE_S, -LOOK_EVERY_S, 0
        while True:
            if (answer := self._answer_to(job)) is not None:
                return answer
            if time.monotonic() - looked_at >= LOOK_EVERY_S:
                if self._folder.find(job.id) is None:
                    lost += 1
                    self._submit(job, times=lost)
                looked_at = time.monotonic()
            self._crew.tend(waiting=len(self._open))
            if self._closed.wait(pause):
                raise WorldError(f"{job} was not waited for: the evaluator was closed")
            pause = min(LAST_PAUSE_S, pause * 1.3)

    def _answer_to(self, job: Job) -> Answer | None:
        answer = self._folder.answer_to(job)
        if answer is None or answer.hardware is None or job.hardware is None:
            return answer
        if (kind := hardware_kind(answer.hardware)) != job.hardware:
            self._folder.reject(job.id, f"it was measured on {kind}, not on {job.hardware}")
            return None
        return answer

    def _submit(self, job: Job, *, times: int) -> None:
        if times > _MAX_LOST:
            raise WorldError(
                f"{job} vanished from {self._folder.path} {_MAX_LOST} times: see its folder broken"
            )
        self._folder.put_task(self.task)
        with self._lock:
            if self._closed.is_set():
                raise WorldError(f"{job} was not submitted: the evaluator is closed")
            self._folder.submit(job)
