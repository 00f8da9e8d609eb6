"""An evaluator whose devices are the workers of a Dask cluster."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from experiments.cluster.orders import Kind, Order, Report, kind_of
from experiments.cluster.work import EvaluatorFactory, work
from mcts.domain import Candidate, Evaluation, Hardware, KernelTask, Profile
from mcts.errors import Suspended, WorldError
from mcts.options import JudgingOptions
from mcts.ports import Evaluator

if TYPE_CHECKING:
    from distributed import Client, Future

RESOURCE = "GPU"
"""What a worker that judges says it has, once for its device: ``--resources GPU=1``."""
SLOTS = 4
"""Orders that a device takes at once, if its worker has the threads for it: while one is measured
the others are compiled."""
SAY_EVERY_S = 30.0
_POLL_S = 1.0
_LOOK_S = 2.0
_SETTLING_S = 5.0
"""How long the end of a cluster, which takes its workers one by one, may take to show."""
_MOST_TRIES = 3
"""How often an order is given out whose evaluator broke, each time to whoever is free."""


class ClusterEvaluator(Evaluator):
    """Judges candidates of one task by the workers of a cluster that have a GPU. Thread-safe.

    Constructing it waits until a first worker has prepared the task; its hardware is then what
    every answer must come from. A worker with other hardware, or one that says that it cannot judge
    the task, gets no further order of this task, and `on_progress` is told so once.

    There is no deadline: every 30 seconds `on_progress` is told what is waited for. With `wait_s`,
    so many seconds without a worker suspend the run, and so does a lost scheduler: what was in
    flight then is measured again by whoever resumes, and no trial is abandoned. A candidate whose
    workers die one after the other, as often as the scheduler allows
    (``distributed.scheduler.allowed-failures``), is judged once more with nothing beside it, and
    has failed if its workers die again and another shows that the cluster itself did not end.
    `home` is the worker
    that is asked as long as it lives, by its address. `at_end` is called when it is closed: it ends
    a cluster of its own.

    Raises what the workers' evaluator raised.
    """

    name = "dask"

    def __init__(
        self,
        task: KernelTask,
        client: Client,
        *,
        factory: EvaluatorFactory,
        judging: JudgingOptions,
        seed: int = 0,
        wait_s: float | None = None,
        home: str | None = None,
        on_progress: Callable[[str], None] | None = None,
        at_end: Callable[[], None] | None = None,
    ) -> None:
        self.task = task
        self._client, self._factory = client, factory
        self._judging, self._seed = judging, seed
        self._wait_s, self._home, self._at_end = wait_s, home, at_end
        self._say = on_progress or (lambda _text: None)
        self._hardware: Hardware | None = None
        self._left_out: dict[str, str] = {}
        self._flying: set[Future[str]] = set()
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._traffic = _Traffic()
        self._said_at = time.monotonic()
        self._looking, self._looked_at = threading.Lock(), -float("inf")
        self._alive: list[str] = []
        try:
            found = self._ask(self._order("prepare"))
            assert found.hardware is not None, "a report without a problem has hardware"
            self._hardware = found.hardware
            self.can_confirm, self.measures_energy = found.can_confirm, found.measures_energy
            self.devices = 1 if home else max(1, len(self._workers()))
        except BaseException:
            self.close()
            raise

    @property
    def hardware(self) -> Hardware:
        """What the workers measure on, with the ceilings that the first of them found."""
        assert self._hardware is not None, "the constructor waits for it"
        return self._hardware

    def evaluate(self, candidate: Candidate) -> Evaluation:
        """The verdict of whichever worker is free."""
        return self._judged("evaluate", candidate)

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """The profile by whichever worker is free."""
        report = self._ask(self._order("profile", candidate=candidate, evaluation=evaluation))
        assert report.profile is not None, "a report of this kind has a profile"
        return report.profile

    def profile_many(self, candidates: Sequence[Candidate]) -> list[Profile]:
        """The profiles in order, an even share of them by each device at once."""
        shares = min(self.devices, len(candidates))
        if not shares:
            return []

        def of_share(first: int) -> tuple[Profile, ...]:
            share = tuple(candidates[first::shares])
            report = self._ask(self._order("profile_many", candidates=share))
            assert len(report.profiles) == len(share), "a report of this kind has all profiles"
            return report.profiles

        found: dict[int, Profile] = {}
        with futures.ThreadPoolExecutor(shares, "rooftree-profile") as pool:
            for first, profiles in enumerate(pool.map(of_share, range(shares))):
                found.update(zip(range(first, len(candidates), shares), profiles, strict=True))
        return [found[index] for index in range(len(candidates))]

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """The verdict of whichever worker is free, judged afresh."""
        return self._judged("confirm", candidate, evaluation)

    def measure_energy(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """The evaluation with the energy that whichever worker is free measures."""
        return self._judged("energy", candidate, evaluation)

    def close(self) -> None:
        """Withdraw what is in flight; whoever still waits gets a WorldError. Idempotent."""
        with self._lock:
            first = not self._closed.is_set()
            self._closed.set()
            flying, self._flying = self._flying, set()
        if not first:
            return
        for future in flying:
            _withdraw(future)
        _quietly(self._client.close)
        if self._at_end is not None:
            self._at_end()

    # From a question to its answer.

    def _judged(
        self, kind: Kind, candidate: Candidate, evaluation: Evaluation | None = None
    ) -> Evaluation:
        report = self._ask(self._order(kind, candidate=candidate, evaluation=evaluation))
        assert report.evaluation is not None, "a report of this kind has an evaluation"
        return report.evaluation

    def _order(self, kind: Kind, **about: Any) -> Order:
        return Order(kind=kind, task=self.task, judging=self._judging, seed=self._seed, **about)

    def _ask(self, order: Order) -> Report:
        broken = 0
        while True:
            report = self._report(order)
            problem = report.problem
            if problem is not None and problem.kind == "unfit":
                self._leave_out(report.worker, f"cannot judge this task: {problem.message}")
            elif problem is not None and problem.kind == "WorldError" and broken < _MOST_TRIES - 1:
                broken += 1
                self._say(f"{order} broke on {report.worker}, again: {problem.message}")
            elif problem is not None:
                raise problem.error()
            elif self._fits(report):
                return report

    def _fits(self, report: Report) -> bool:
        assert report.hardware is not None, "a report without a problem has hardware"
        if self._hardware is None or kind_of(report.hardware) == kind_of(self._hardware):
            return True
        self._leave_out(
            report.worker,
            f"has {kind_of(report.hardware)}: the task is measured on {kind_of(self._hardware)}",
        )
        return False

    def _leave_out(self, worker: str, why: str) -> None:
        with self._lock:
            first = worker not in self._left_out
            self._left_out[worker] = why
        if first:
            self._say(f"worker {worker} {why}; it is left out")

    def _report(self, order: Order) -> Report:
        """What a worker reports, once one does; a failed candidate where it ended its workers."""
        from distributed import KilledWorker

        try:
            with self._traffic.shared():
                return self._answered(order)
        except KilledWorker:
            pass  # Dask holds the end of a worker against all that it was given
        try:
            with self._traffic.alone():
                return self._answered(order)
        except KilledWorker as error:
            return self._killed(order, str(error.last_worker.address))

    def _answered(self, order: Order) -> Report:
        """The report of the first worker that answers. KilledWorker if the order, or what was
        beside it, ended as many as the scheduler allows."""
        while True:
            if (ended := self._ended(order)) is not None:
                raise ended
            workers = self._chosen()
            future = self._submitted(order, workers)
            try:
                if (text := self._awaited(future, order, workers)) is not None:
                    return Report.model_validate_json(text)
            finally:
                with self._lock:
                    self._flying.discard(future)
                _withdraw(future)

    def _submitted(self, order: Order, workers: list[str] | None) -> Future[str]:
        with self._lock:
            if self._closed.is_set():
                raise WorldError(f"{order} was not given out: the evaluator is closed")
        try:
            future = self._client.submit(
                work, order.model_dump_json(), self._factory,
                key=f"rooftree-{order.kind}-{uuid.uuid4().hex}", pure=False,
                resources={RESOURCE: 1 / SLOTS}, workers=workers,
            )  # fmt: skip
        except _lost_errors() as error:
            raise self._lost(error) from None
        with self._lock:
            self._flying.add(future)
        return future

    def _awaited(self, future: Future[str], order: Order, workers: list[str] | None) -> str | None:
        """The answer; None where all that were asked are gone, and others must be."""
        done = threading.Event()
        future.add_done_callback(lambda _future: done.set())  # type: ignore[no-untyped-call]
        alone_s, looked_at = 0.0, time.monotonic()
        while not done.wait(_POLL_S):
            if (ended := self._ended(order)) is not None:
                raise ended
            if self._client.status != "running":
                raise self._lost(None)
            now = time.monotonic()
            alive = self._workers()
            alone_s = 0.0 if alive else alone_s + now - looked_at
            looked_at = now
            self._tell(order, len(alive))
            if self._wait_s is not None and alone_s >= self._wait_s:
                raise Suspended(f"no worker with a {RESOURCE} was there for {alone_s:.0f} s")
            if workers is not None and not set(workers) & set(alive):
                return None
        try:
            return str(future.result())
        except _lost_errors() as error:
            raise self._ended(order) or self._lost(error) from None

    def _ended(self, order: Order) -> WorldError | None:
        if not self._closed.is_set():
            return None
        return WorldError(f"{order} was not waited for: the evaluator was closed")

    def _tell(self, order: Order, alive: int) -> None:
        now = time.monotonic()
        with self._lock:
            if now - self._said_at < SAY_EVERY_S:
                return
            self._said_at, waiting = now, len(self._flying)
        count = f"{alive} worker{'' if alive == 1 else 's'} with a {RESOURCE}"
        self._say(f"waiting for {order} and {waiting - 1} more: {count}")

    def _chosen(self) -> list[str] | None:
        """The workers to ask, None for any. WorldError if all that there are were left out."""
        alive = self._workers(all_of_them=True)
        fitting = [worker for worker in alive if worker not in self._left_out]
        if alive and not fitting:
            why = "; ".join(f"{worker} {self._left_out[worker]}" for worker in sorted(alive))
            raise WorldError(f"no worker of the cluster can judge this task: {why}")
        if self._home in fitting:
            return [self._home]
        return fitting if fitting and self._left_out else None

    def _workers(self, *, all_of_them: bool = False) -> list[str]:
        """The addresses of the workers with a GPU that live, without those left out; at most
        `_LOOK_S` old, since every question of it costs the scheduler time."""
        with self._looking:
            if time.monotonic() - self._looked_at >= _LOOK_S:
                self._alive, self._looked_at = self._look(), time.monotonic()
            alive = list(self._alive)
        return alive if all_of_them else [one for one in alive if one not in self._left_out]

    def _look(self) -> list[str]:
        try:
            return gpu_workers(self._client)
        except _lost_errors() as error:
            raise self._lost(error) from None

    def _killed(self, order: Order, last: str) -> Report:
        if order.kind != "evaluate" or order.candidate is None:
            raise WorldError(f"{order} ended every worker that tried it, the last at {last}")
        # A cluster that is shut down also loses one worker after the other. It is the candidate
        # that ended them if the task can still be prepared.
        self._closed.wait(_SETTLING_S)
        try:
            self._report(order.model_copy(update={"kind": "prepare", "candidate": None}))
        except Suspended:
            raise
        except WorldError as error:
            raise Suspended(f"{order} was not judged, its cluster ends: {error}") from None
        failed = Evaluation(
            candidate_id=order.candidate.id,
            status="runtime_error",
            message=f"it ended every worker that judged it, the last at {last}",
        )
        return Report(worker=last, hardware=self._hardware, evaluation=failed)

    def _lost(self, error: BaseException | None) -> Suspended:
        where = getattr(self._client.scheduler, "address", None) or "the cluster"
        why = f" ({type(error).__name__})" if error is not None else ""
        return Suspended(f"the scheduler at {where} was lost{why}")


def gpu_workers(client: Client) -> list[str]:
    """The addresses of the cluster's workers that say they have a GPU.

    Raises CommClosedError if the client has lost its scheduler, of which it then knows nothing.
    """
    from distributed.comm.core import CommClosedError

    known: dict[str, Any] | None = client.scheduler_info(n_workers=-1).get("workers")
    if known is None:
        raise CommClosedError("the scheduler is gone")
    return [address for address, facts in known.items() if facts.get("resources", {}).get(RESOURCE)]


class _Traffic:
    """Lets orders out side by side, or one with none beside it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._out = self._waiting = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: self._out >= 0 and not self._waiting)
            self._out += 1
        try:
            yield
        finally:
            with self._changed:
                self._out -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: self._out == 0)
            self._waiting -= 1
            self._out = -1
        try:
            yield
        finally:
            with self._changed:
                self._out = 0
                self._changed.notify_all()


def _lost_errors() -> tuple[type[BaseException], ...]:
    """What Dask raises where the other side is gone: a closed connection is an OSError, a future
    whose scheduler went is cancelled, and a client that closed itself complains in one of the
    others."""
    from distributed.client import ClosedClientError

    closed = (OSError, TimeoutError, RuntimeError, ValueError, ClosedClientError)
    return (*closed, futures.CancelledError, asyncio.CancelledError)


def _withdraw(future: Future[str]) -> None:
    """Have an order forgotten, whether it is waiting, being worked on, or answered."""
    if future.done():  # type: ignore[no-untyped-call]
        future.release()  # type: ignore[no-untyped-call]
        return
    _quietly(lambda: future.cancel(force=True))  # type: ignore[no-untyped-call]


def _quietly(act: Callable[[], object]) -> None:
    """Do what may fail because the other side is gone."""
    try:
        act()
    except Exception:  # noqa: BLE001 - the other side may be gone in any way
        return
