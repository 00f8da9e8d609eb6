"""The loop of a worker: take a job, have it judged here, write the answer."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

from experiments.farm.bench import EvaluatorFactory, UnfitMachine, WorkBench
from experiments.farm.choices import Choices, Flight
from experiments.farm.folder import JobFolder
from experiments.farm.heart import BEATS_PER_LEASE, Heart, Watch
from experiments.farm.jobs import Answer, Job, Problem, Setup, Ticket
from experiments.farm.perform import perform
from mcts.domain import KernelTask
from mcts.errors import InputError, NotRecorded, WorldError

FIRST_PAUSE_S, LAST_PAUSE_S = 0.02, 0.5
GRACE_S = 20.0
"""What a job in hand may still take after the first signal, before it is given back."""
_MAX_BREAKS = 2
BROKEN = 2


def serve(
    folder: JobFolder,
    *,
    evaluator_factory: EvaluatorFactory,
    drain: bool = False,
    device: int = 0,
    parallel: int = 1,
    grace_s: float = GRACE_S,
    say: Callable[[str], None] | None = None,
    stop: threading.Event | None = None,
) -> int:
    """Work for a folder until told to stop; the exit code.

    One evaluator is held at a time; `parallel` jobs of its task are given to it at once. With
    `drain` the worker leaves once nothing is queued and nobody who submits is alive. The first
    SIGTERM, SIGINT or SIGHUP, or `stop`, lets jobs in hand finish for `grace_s` seconds and then
    gives them back; the second gives them back at once. Two WorldErrors of the evaluator with no
    answer between them end the worker with exit code 2, all jobs given back.
    """
    say = say or _to_stderr
    if folder.made:
        say(f"made the job folder {folder.path}: it was not there before")
    worker = Worker(
        folder,
        WorkBench(evaluator_factory, say=say),
        Heart(folder, role="worker", device=device),
        parallel=parallel,
        say=say,
    )
    return worker.run(drain=drain, grace_s=grace_s, stop=stop or threading.Event())


class Worker:
    """One worker's state. Jobs are done in threads, all else happens in the thread of `run`."""

    def __init__(
        self,
        folder: JobFolder,
        bench: WorkBench,
        heart: Heart,
        *,
        parallel: int,
        say: Callable[[str], None],
    ) -> None:
        self._folder, self._bench, self._heart = folder, bench, heart
        self._parallel, self._say = parallel, say
        self._watch = Watch(folder)
        self._watched_at = -float("inf")
        self._flights: list[Flight] = []
        self._choices = Choices(folder)
        self._breaks = 0
        self._signals = 0

    def run(self, *, drain: bool, grace_s: float, stop: threading.Event) -> int:
        with ExitStack() as leaving:
            leaving.callback(self._heart.stop)
            leaving.callback(self._bench.clear)
            leaving.enter_context(self._signalled())
            leaving.callback(self._give_back_all)
            self._heart.start()
            self._folder.sweep()
            self._say(f"worker {self._heart.id} takes jobs from {self._folder.path}")
            self._loop(drain, stop)
            self._finish(grace_s)
        return BROKEN if self._breaks >= _MAX_BREAKS else 0

    def _loop(self, drain: bool, stop: threading.Event) -> None:
        pause = FIRST_PAUSE_S
        while not (self._signals or stop.is_set() or self._breaks >= _MAX_BREAKS):
            self._keep_watch()
            if self._land() or (len(self._flights) < self._parallel and self._launch()):
                pause = FIRST_PAUSE_S
                continue
            if drain and not self._flights and self._is_over():
                self._say("nothing is queued and nobody submits: done")
                return
            stop.wait(pause)
            pause = min(LAST_PAUSE_S, pause * 1.3)

    # Taking a job.

    def _launch(self) -> bool:
        """Take one job that can be done now, and start on it; whether there was one."""
        for ticket, job in self._choices.now(self._setup, settled=bool(self._flights)):
            mine = self._folder.take(ticket, self._heart.id)
            if mine is None:
                continue
            if job.setup != self._bench.setup:
                self._choices.began()
            task = self._folder.task(job.task_id)
            if task is None:
                text = f"the task {job.task_id} is missing from the folder, or damaged"
                self._settle(mine, self._problem(job, WorldError(text)))
                return True
            flight = Flight(mine, job)
            flight.thread = threading.Thread(
                target=self._work, args=(flight, task), name="rooftree-job", daemon=True
            )
            self._flights.append(flight)
            self._heart.say(task_id=job.task_id, doing=str(job))
            flight.thread.start()
            return True
        return False

    @property
    def _setup(self) -> Setup | None:
        """What the evaluator is for, or is about to be."""
        return self._flights[0].job.setup if self._flights else self._bench.setup

    # Doing it, in a thread of its own.

    def _work(self, flight: Flight, task: KernelTask) -> None:
        job = flight.job
        try:
            evaluator = self._bench.evaluator(task, job.terms)
            if job.hardware not in (None, self._bench.hardware):
                flight.foreign = self._bench.hardware
                return
            flight.answer = perform(job, evaluator, worker=self._heart.id)
        except NotRecorded as error:
            flight.answer = self._problem(job, error)
        except InputError as error:
            # A task that cannot be prepared is the submitter's to mend. After that it is this
            # worker that cannot do what another could.
            if job.kind == "prepare":
                flight.answer = self._problem(job, error)
            flight.broke = str(error)
        except UnfitMachine as error:
            flight.unfit = str(error)
        except WorldError as error:
            flight.broke = str(error)

    def _problem(self, job: Job, error: WorldError | InputError | NotRecorded) -> Answer:
        return Answer(
            job_id=job.id, kind=job.kind, worker=self._heart.id, problem=Problem.of(error)
        )

    # What came of it.

    def _land(self) -> bool:
        """Deal with every job whose thread has ended; whether there was one."""
        landed = [flight for flight in self._flights if not flight.thread.is_alive()]
        for flight in landed:
            self._flights.remove(flight)
            if flight.answer is not None:
                self._breaks = 0
                self._settle(flight.ticket, flight.answer, flight)
            elif flight.foreign is not None:
                self._leave_foreign(flight, flight.foreign)
            elif flight.unfit is not None:
                self._leave_unfit(flight, flight.unfit)
            else:
                self._break(flight)
        if landed:
            doing = str(self._flights[0].job) if self._flights else ""
            self._heart.say(doing=doing, hardware=self._bench.hardware)
        return bool(landed)

    def _settle(self, ticket: Ticket, answer: Answer, flight: Flight | None = None) -> None:
        first = self._folder.answer(answer)
        self._folder.drop(ticket)
        took = f", {time.monotonic() - flight.started:.1f} s" if flight else ""
        late = "" if first else "; another worker had answered before, this is dropped"
        self._say(f"{_short(ticket)} {_words(answer)}{took}{late}")

    def _leave_foreign(self, flight: Flight, mine: str) -> None:
        job = flight.job
        assert job.hardware is not None, "only a job that asks for hardware is foreign"
        self._choices.leave_foreign(job.task_id, job.hardware)
        self._leave(flight, f"its task is measured on {job.hardware}, here is {mine}")

    def _leave_unfit(self, flight: Flight, reason: str) -> None:
        """Not counted as a break: the worker stays for tasks that it can judge."""
        self._choices.leave_unfit(flight.job.task_id, reason)
        self._heart.say(unfit=self._choices.unfit)
        self._leave(flight, f"this machine cannot judge its task: {reason}")

    def _leave(self, flight: Flight, reason: str) -> None:
        self._folder.give_back(flight.ticket)
        self._say(
            f"{_short(flight.ticket)} given back: {reason}; jobs of this task are left to others "
            "from now on"
        )
        if not self._flights:
            self._bench.clear()

    def _break(self, flight: Flight) -> None:
        """The evaluator failed, not the candidate: another worker may try, or this one once more,
        with a new evaluator."""
        self._breaks += 1
        again = self._folder.fail(flight.ticket, f"{self._heart.id}: {flight.broke}")
        fate = "given back" if again else "given up"
        self._say(f"{_short(flight.ticket)} {flight.job} {fate}: {flight.broke}")
        if not self._flights:
            self._bench.clear()

    # Staying and leaving.

    def _keep_watch(self) -> None:
        """Give the jobs of stopped workers back to the queue, now and then."""
        now = time.monotonic()
        if now - self._watched_at < self._folder.lease_s / BEATS_PER_LEASE:
            return
        self._watched_at = now
        self._watch.look()
        for ticket in self._watch.expire():
            self._say(f"{_short(ticket)} is queued again: {ticket.worker} stopped")

    def _is_over(self) -> bool:
        if self._watch.alive("submitter"):
            return False
        self._watch.look()
        return not self._watch.alive("submitter") and not self._choices.now(None)

    def _finish(self, grace_s: float) -> None:
        """Wait for the jobs in hand, within reason."""
        deadline, before = time.monotonic() + grace_s, self._signals
        if self._flights:
            self._say(f"leaving; {len(self._flights)} in hand may finish for {grace_s:.0f} s")
        while self._flights and time.monotonic() < deadline and self._signals == before:
            self._land()
            time.sleep(FIRST_PAUSE_S)

    def _give_back_all(self) -> None:
        for flight in self._flights:
            self._folder.give_back(flight.ticket)
            self._say(f"{_short(flight.ticket)} {flight.job} given back")
        self._flights.clear()

    @contextmanager
    def _signalled(self) -> Iterator[None]:
        """SIGTERM, SIGINT and SIGHUP are counted; only the main thread can listen to them. A
        SIGHUP that is ignored, as under nohup, stays so.
        """

        def count(_signal: int, _frame: FrameType | None) -> None:
            self._signals += 1

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        heeded = [signal.SIGTERM, signal.SIGINT]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            heeded.append(signal.SIGHUP)
        before = {number: signal.signal(number, count) for number in heeded}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _short(ticket: Ticket) -> str:
    """Enough of a job's id to tell it from the others of its run."""
    return f"job-{ticket.job_id[-8:]}"


def _words(answer: Answer) -> str:
    """An answer in one line."""
    if answer.problem is not None:
        return f"{answer.kind}: {answer.problem.kind}: {answer.problem.message}"
    if answer.evaluation is not None:
        found = answer.evaluation
        gain = f" {found.speedup:.2f}x" if found.speedup else ""
        return f"{answer.kind} {found.candidate_id}: {found.status}{gain}"
    return f"{answer.kind}: done"


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
