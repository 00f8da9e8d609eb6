"""The job folder: every job is answered once, and nothing that lies in it can hurt."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.farm.folder import JobFolder
from experiments.farm.heart import Heart, Watch
from experiments.farm.jobs import (
    MAX_ATTEMPTS,
    Answer,
    Heartbeat,
    Job,
    Terms,
    Ticket,
    job_id,
    run_mark,
)
from experiments.farm.serve import serve
from experiments.runs.wiring.parts import spool_evaluator
from mcts.domain import Candidate, Hardware
from mcts.errors import InputError, WorldError
from mcts.options import JudgingOptions
from mcts.ports import Evaluator
from mcts.requests import EvaluatorRequest
from mcts.testing.toy import toy_task

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
LEASE_S = 60.0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def make_job(number: int = 0) -> Job:
    return Job(
        id=f"job-{number:032x}",
        task_id=toy_task().id,
        kind="evaluate",
        candidate=toy_task().baseline,
    )


def make_answer(job: Job, worker: str = "w") -> Answer:
    return Answer.model_validate(
        {
            "job_id": job.id,
            "kind": job.kind,
            "worker": worker,
            "problem": {"kind": "WorldError", "message": f"by {worker}"},
        }
    )


def beat(folder: JobFolder, id: str, number: int, *, mtime: float | None = None) -> None:
    folder.beat(Heartbeat(id=id, role="worker", beat=number))
    if mtime is not None:
        os.utime(folder.path / "workers" / f"{id}.json", (mtime, mtime))


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    return JobFolder(tmp_path / "farm")


# A job's way.


def test_a_job_is_taken_once_and_its_first_answer_stays(folder: JobFolder) -> None:
    job = make_job()
    folder.submit(job)
    assert folder.find(job.id) == "queue"
    (ticket,) = folder.queued()
    assert folder.job(ticket) == job
    mine = folder.take(ticket, "one")
    assert mine is not None and mine.worker == "one"
    assert folder.take(ticket, "two") is None
    assert folder.find(job.id) == "taken"
    assert folder.answer(make_answer(job, "one"))
    assert not folder.answer(make_answer(job, "two"))
    folder.drop(mine)
    assert folder.find(job.id) == "done"
    found = folder.answer_to(job)
    assert found is not None and found.worker == "one"
    assert not folder.taken() and not folder.queued()


def test_many_that_race_for_one_job_or_one_answer_have_one_winner(folder: JobFolder) -> None:
    for number in range(10):
        job = make_job(number)
        folder.submit(job)
        with ThreadPoolExecutor(8) as pool:
            workers = [f"w{number}" for number in range(8)]
            taken = list(pool.map(folder.take, [Ticket(job.id)] * 8, workers))
            assert sum(ticket is not None for ticket in taken) == 1
            first = list(pool.map(folder.answer, [make_answer(job, worker) for worker in workers]))
            assert sum(first) == 1


def test_a_job_with_an_answer_is_not_worked_on_again(folder: JobFolder) -> None:
    job = make_job()
    folder.submit(job)
    folder.answer(make_answer(job))
    assert folder.take(Ticket(job.id), "late") is None
    assert not folder.queued() and not folder.taken()


def test_a_job_that_ends_its_workers_is_answered_with_that(folder: JobFolder) -> None:
    job = make_job()
    folder.submit(job)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        mine = folder.take(Ticket(job.id, attempt), f"w{attempt}")
        assert mine is not None
        assert folder.fail(mine, f"w{attempt} stopped") is (attempt < MAX_ATTEMPTS)
    found = folder.answer_to(job)
    assert found is not None and found.problem is not None
    assert found.problem.kind == "WorldError"
    assert "3 workers took the job and did not answer; the last: w3 stopped" in (
        found.problem.message
    )
    assert not folder.queued() and not folder.taken()


def test_giving_back_is_no_attempt_and_withdrawing_leaves_taken_jobs(folder: JobFolder) -> None:
    jobs = [make_job(number) for number in range(2)]
    for job in jobs:
        folder.submit(job)
    mine = folder.take(Ticket(jobs[0].id), "w")
    assert mine is not None
    folder.give_back(mine)
    assert {ticket.attempt for ticket in folder.queued()} == {1}
    folder.take(Ticket(jobs[0].id), "w")
    for job in jobs:
        folder.withdraw(job.id)
    assert [folder.find(job.id) for job in jobs] == ["taken", None]


def test_forgetting_a_run_leaves_nothing_of_it_and_all_of_the_others(folder: JobFolder) -> None:
    jobs = [make_job(number) for number in range(4)]
    others = [
        make_job(number).model_copy(update={"id": f"job-{number + 1:08x}{0:024x}"})
        for number in range(3)
    ]
    for job in (*jobs, *others):
        folder.submit(job)
    for job in (jobs[0], others[0], jobs[1]):
        folder.take(Ticket(job.id), "w")
    for job in (jobs[1], jobs[2], others[1]):
        folder.answer(make_answer(job))
    folder.forget_run(f"job-{0:08x}")
    assert [folder.find(job.id) for job in jobs] == [None] * 4
    assert [folder.find(job.id) for job in others] == ["taken", "queue", "queue"]
    assert folder.is_done(others[1].id)


def test_a_question_has_the_same_id_in_the_same_run_only() -> None:
    task = toy_task()
    asked: dict[str, Any] = {
        "run_id": "a",
        "task": task,
        "kind": "evaluate",
        "terms": Terms(),
        "candidate": task.baseline,
        "evaluation": None,
        "ordinal": 0,
    }
    other = Candidate(source="x")
    changed: list[dict[str, Any]] = [
        {"run_id": "b"},
        {"kind": "confirm"},
        {"terms": Terms(compiled=True)},
        {"candidate": other},
        {"ordinal": 1},
    ]
    assert job_id(**asked) == job_id(**asked)
    ids = [job_id(**{**asked, **change}) for change in [{}, *changed]]
    assert len(set(ids)) == 6
    assert [id.startswith(run_mark("a")) for id in ids] == [True, False, True, True, True, True]


# Who is alive.


def test_a_stopped_worker_loses_its_job_after_its_lease(folder: JobFolder) -> None:
    job, clock = make_job(), Clock()
    watch = Watch(folder, clock=clock)
    folder.submit(job)
    beat(folder, "w", 0)
    folder.take(Ticket(job.id), "w")
    for step in range(30):
        beat(folder, "w", step)
        watch.look()
        assert watch.expire() == [] and [b.id for b in watch.alive("worker")] == ["w"]
        clock.now += 5
    watch.look()
    assert watch.expire() == []
    clock.now += LEASE_S
    watch.look()
    assert [ticket.job_id for ticket in watch.expire()] == [job.id]
    assert folder.queued() == [Ticket(job.id, 2)]
    assert watch.alive("worker") == [] and watch.alive("submitter") == []


@pytest.mark.parametrize("skew_s", [-86400.0, 86400.0])
def test_a_wrong_clock_neither_kills_a_worker_nor_keeps_a_dead_one(
    folder: JobFolder, skew_s: float
) -> None:
    clock = Clock()
    watch, now = Watch(folder, clock=clock), folder.clock()
    for step in range(30):
        beat(folder, "w", step, mtime=now + skew_s)
        watch.look()
        assert not watch.stopped("w")
        clock.now += 5
    assert watch.alive("worker")
    clock.now += LEASE_S
    watch.look()
    assert watch.stopped("w") and not watch.alive("worker")


def test_a_fresh_watcher_believes_the_folders_clock_after_a_few_beats(folder: JobFolder) -> None:
    clock = Clock()
    beat(folder, "old", 7, mtime=folder.clock() - 2 * LEASE_S)
    beat(folder, "new", 7)
    watch = Watch(folder, clock=clock)
    watch.look()
    assert not watch.stopped("old"), "it may only have been slow"
    assert [b.id for b in watch.alive("worker")] == ["new"]
    clock.now += 16
    watch.look()
    assert watch.stopped("old") and not watch.stopped("new")


def test_a_job_whose_worker_has_no_heart_goes_back(folder: JobFolder) -> None:
    job, clock = make_job(), Clock()
    folder.submit(job)
    folder.take(Ticket(job.id), "ghost")
    watch = Watch(folder, clock=clock)
    watch.look()
    assert watch.expire() == []
    clock.now += 16
    watch.look()
    assert len(watch.expire()) == 1


def test_a_heart_beats_by_itself_and_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path / "farm", lease_s=0.12)
    heart = Heart(folder, role="worker", device=1).start()
    heart.say(doing="something")
    (first, _) = folder.heartbeats()[0]
    assert (first.id, first.device, first.doing) == (heart.id, 1, "something")
    until = time.monotonic() + 20
    while folder.heartbeats()[0][0].beat <= first.beat + 2 and time.monotonic() < until:
        time.sleep(0.005)
    assert folder.heartbeats()[0][0].beat > first.beat + 2
    heart.stop()
    heart.stop()
    assert folder.heartbeats() == []


class Counting(JobFolder):
    """Counts the answers that were taken, by job."""

    accepted: Counter[str]

    def answer(self, answer: Answer) -> bool:
        first = super().answer(answer)
        self.accepted[answer.job_id] += first
        return first


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["take", "finish", "link", "fail", "die", "revive", "expire", "submit"]),
        st.integers(0, 2),
        st.integers(0, 3),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(steps=STEPS, jobs=st.integers(1, 4))
def test_each_job_is_answered_exactly_once_however_workers_interleave(
    steps: list[tuple[str, int, int]], jobs: int
) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        farm = Farm(Path(place) / "farm", jobs)
        for action, worker, job in steps:
            getattr(farm, action)(worker, job % jobs)
        farm.finish_all()
        assert farm.folder.accepted == {job.id: 1 for job in farm.jobs}
        assert not farm.folder.queued() and not farm.folder.taken()
        assert list((farm.folder.path / "broken").iterdir()) == []


class Farm:
    """Three workers that take, finish, die, come back too late, and watch each other."""

    def __init__(self, path: Path, jobs: int) -> None:
        self.folder = Counting(path)
        self.folder.accepted = Counter()
        self.clock = Clock()
        self.jobs = [make_job(number) for number in range(jobs)]
        self.alive = dict.fromkeys(range(3), True)
        self.beats = Counter[int]()
        self.held: dict[int, Ticket] = {}
        self.watches = {worker: Watch(self.folder, clock=self.clock) for worker in range(4)}
        for job in self.jobs:
            self.folder.submit(job)
        self.pass_time(0)

    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds
        for worker, alive in self.alive.items():
            if alive:
                self.beats[worker] += 1
                beat(self.folder, f"w{worker}", self.beats[worker])
        for watch in self.watches.values():
            watch.look()

    def take(self, worker: int, _job: int) -> None:
        for ticket in self.folder.queued():
            if worker not in self.held and (mine := self.folder.take(ticket, f"w{worker}")):
                self.held[worker] = mine

    def link(self, worker: int, _job: int) -> None:
        """Answer, and stop before the ticket is dropped."""
        if ticket := self.held.get(worker):
            self.folder.answer(make_answer(make_job(int(ticket.job_id[4:], 16)), f"w{worker}"))

    def finish(self, worker: int, job: int) -> None:
        self.link(worker, job)
        if ticket := self.held.pop(worker, None):
            self.folder.drop(ticket)

    def fail(self, worker: int, _job: int) -> None:
        if (ticket := self.held.pop(worker, None)) and ticket in self.folder.taken():
            self.folder.fail(ticket, "broke")

    def die(self, worker: int, _job: int) -> None:
        self.alive[worker] = False

    def revive(self, worker: int, _job: int) -> None:
        self.alive[worker] = True

    def expire(self, worker: int, job: int) -> None:
        """Half a lease passes, and one looks after the others."""
        self.pass_time(LEASE_S / 2)
        self.watches[worker].expire()

    def submit(self, _worker: int, job: int) -> None:
        """A submitter that came back and asks again."""
        if self.folder.find(self.jobs[job].id) is None:
            self.folder.submit(self.jobs[job])

    def finish_all(self) -> None:
        """All are killed, and a new worker does what is left."""
        self.alive = dict.fromkeys(range(3), False)
        self.pass_time(0)
        self.pass_time(2 * LEASE_S)
        self.watches[3].expire()
        self.held.clear()
        for _ in range(len(self.jobs) + 1):
            self.take(9, 0)
            self.finish(9, 0)


# What does not belong there.


def junk() -> dict[str, bytes]:
    right = make_job(1).model_dump_json().encode()
    return {
        "empty": b"",
        "not JSON": b"{",
        "not text": b"\xff\xfe\x00",
        "nested": b"[" * 200_000,
        "a list": b"[]",
        "of another job": make_job(2).model_dump_json().encode(),
        "an unknown field": right[:-1] + b', "command": "rm"}',
        "no number": right.replace(b'"BLOCK":1', b'"BLOCK":NaN'),
        "no such kind": right.replace(b'"evaluate"', b'"execute"'),
        "too large": b" " * (16 * 1024 * 1024 + 1),
    }


@pytest.mark.parametrize("what", junk())
def test_a_malformed_job_is_put_aside_with_its_reason(tmp_path: Path, what: str) -> None:
    said: list[str] = []
    folder = JobFolder(tmp_path / "farm", on_broken=said.append)
    ticket = Ticket(make_job(1).id)
    (folder.path / "queue" / ticket.name).write_bytes(junk()[what])
    assert folder.job(ticket) is None
    assert folder.queued() == []
    assert len(said) == 1 and "is put aside" in said[0]
    reasons = list((folder.path / "broken").glob("*.reason"))
    assert len(reasons) == 1 and reasons[0].read_text().startswith("queue: ")


def test_what_is_no_file_is_put_aside_and_never_waited_for(
    folder: JobFolder, tmp_path: Path
) -> None:
    queue = folder.path / "queue"
    (queue / Ticket(make_job(0).id).name).mkdir()
    right = tmp_path / "right.json"
    right.write_text(make_job(1).model_dump_json())
    (queue / Ticket(make_job(1).id).name).symlink_to(right)
    os.mkfifo(queue / Ticket(make_job(2).id).name)
    (queue / "a name\nof no job \udcff").write_text("x", encoding="utf-8")
    (queue / Ticket(make_job(3).id, 1, "taken").name).write_text("x")
    (queue / ("n" * 255)).write_text("x")
    for number in range(3):
        assert folder.job(Ticket(make_job(number).id)) is None
    assert folder.queued() == []
    assert len(list((folder.path / "broken").glob("*.reason"))) == 6


@pytest.mark.parametrize("what", ["empty", "not JSON", "not text", "nested", "a list"])
def test_malformed_tasks_answers_and_heartbeats_hurt_nobody(folder: JobFolder, what: str) -> None:
    data, job, task = junk()[what], make_job(), toy_task()
    (folder.path / "done" / f"{job.id}.json").write_bytes(data)
    (folder.path / "tasks" / f"{task.id}.json").write_bytes(data)
    (folder.path / "workers" / "w.json").write_bytes(data)
    assert folder.answer_to(job) is None and not folder.is_done(job.id)
    assert folder.task(task.id) is None
    assert folder.heartbeats() == []
    folder.put_task(task)
    assert folder.task(task.id) == task
    assert len(list((folder.path / "broken").glob("*.reason"))) == 3


def test_an_answer_to_another_question_is_put_aside(folder: JobFolder) -> None:
    asked, other = make_job(0), make_job(1)
    (folder.path / "done" / f"{asked.id}.json").write_text(make_answer(other).model_dump_json())
    assert folder.answer_to(asked) is None
    assert not folder.is_done(asked.id)


def test_another_task_under_a_tasks_name_is_put_aside(folder: JobFolder) -> None:
    task = toy_task()
    other = task.model_copy(update={"name": "other"})
    (folder.path / "tasks" / f"{task.id}.json").write_text(other.model_dump_json())
    assert folder.task(task.id) is None


def test_a_huge_answer_becomes_a_problem(folder: JobFolder) -> None:
    job = make_job()
    message = "x" * (17 * 1024 * 1024)
    answer = Answer.model_validate(
        {
            "job_id": job.id,
            "kind": "evaluate",
            "worker": "w",
            "hardware": Hardware(name="toy device"),
            "evaluation": {
                "candidate_id": toy_task().baseline.id,
                "status": "runtime_error",
                "message": message,
            },
        }
    )
    assert folder.answer(answer)
    found = folder.answer_to(job)
    assert found is not None and found.problem is not None
    assert "16777216 are allowed" in found.problem.message


# The folder itself.


def test_it_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path / "farm")
    assert folder.made and not JobFolder(folder.path).made
    for place in [folder.path, *folder.path.iterdir()]:
        assert place.stat().st_mode & 0o077 == 0


def test_one_in_a_folder_that_is_not_there_is_a_mistyped_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nope does not exist; make it first"):
        JobFolder(tmp_path / "nope" / "farm")
    assert not list(tmp_path.iterdir())


def test_whoever_makes_one_says_so(tmp_path: Path) -> None:
    said: list[str] = []

    def no_evaluator(*_: object) -> Evaluator:
        raise AssertionError("there is no job")

    for _ in range(2):
        folder = JobFolder(tmp_path / "farm")
        assert serve(folder, evaluator_factory=no_evaluator, drain=True, say=said.append) == 0
    told = [line for line in said if "made the job folder" in line]
    assert len(told) == 1 and str(tmp_path / "farm") in told[0]


def test_a_search_for_workers_elsewhere_says_that_nobody_can_be_there_yet(tmp_path: Path) -> None:
    said: list[str] = []
    request = EvaluatorRequest(
        task=toy_task(),
        judging=JudgingOptions(evaluator=f"spool:{tmp_path / 'farm'}", wait_minutes=0.01),
        on_progress=said.append,
    )
    for _ in range(2):
        with pytest.raises(WorldError, match="no worker was alive"):
            spool_evaluator(request)
    assert [line for line in said if "made" in line] == [
        f"made the job folder {tmp_path / 'farm'}: it was not there before"
    ]


def test_a_group_may_share_one(tmp_path: Path) -> None:
    path = tmp_path / "farm"
    path.mkdir()
    path.chmod(0o770)
    folder = JobFolder(path)
    folder.submit(make_job())
    assert (path / "queue").stat().st_mode & 0o777 == 0o770
    assert (path / "queue" / Ticket(make_job().id).name).stat().st_mode & 0o777 == 0o660


def test_one_that_everybody_can_write_to_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "farm"
    JobFolder(path)
    for place in (path / "queue", path):
        place.chmod(0o777)
        with pytest.raises(InputError, match="everybody"):
            JobFolder(path)
        JobFolder(path, unsafe=True)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("x")
    with pytest.raises(InputError, match="no job folder"):
        JobFolder(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        JobFolder(tmp_path / "precious.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


@pytest.mark.parametrize("head", ['{"format": 2}', '{"format": 1, "new": 1}', "", "{"])
def test_one_of_another_version_is_refused_and_left_alone(tmp_path: Path, head: str) -> None:
    path = JobFolder(tmp_path / "farm").path
    (path / "farm.json").write_text(head)
    with pytest.raises(InputError, match="version"):
        JobFolder(path)
    assert (path / "farm.json").read_text() == head


def test_who_comes_first_sets_the_lease(tmp_path: Path) -> None:
    assert JobFolder(tmp_path / "farm", lease_s=7).lease_s == 7
    assert JobFolder(tmp_path / "farm").lease_s == 7


def test_what_was_left_half_written_is_swept_after_a_day(folder: JobFolder) -> None:
    old, new = (folder.path / "queue" / f".tmp-{name}" for name in ("old", "new"))
    for path in (old, new):
        path.write_text("{")
    os.utime(old, (0, 0))
    assert folder.queued() == []
    folder.sweep()
    assert not old.exists() and new.exists()
