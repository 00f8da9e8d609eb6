"""Submitters and workers in one process: what is asked is answered, whatever happens to whom."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from experiments.farm.bench import UnfitMachine
from experiments.farm.evaluator import SpoolEvaluator
from experiments.farm.folder import JobFolder
from experiments.farm.heart import Heart
from experiments.farm.jobs import Terms, Ticket, hardware_kind
from experiments.farm.serve import serve
from experiments.runs.tasks.files import load_task
from mcts.domain import (
    CUDA,
    DIALECTS,
    KERNELBENCH,
    Candidate,
    Evaluation,
    Hardware,
    Isolation,
    KernelTask,
)
from mcts.errors import InputError, NotRecorded, WorldError
from mcts.loop.optimizer import Budget, Optimizer, Result
from mcts.options import JudgingOptions
from mcts.ports import Evaluator
from mcts.testing.evaluators import EvaluatorContract
from mcts.testing.toy import ToyEvaluator, toy_task
from tests.experiments.conftest import ListJournal, OneStepProposer, SilentAdvisor

LEASE_S = 3.0
LONG_S = 30.0
WORKING = Candidate(tunables={"BLOCK": 4, "TILE": 4, "UNROLL": 4})


class OtherHardware(ToyEvaluator):
    hardware = Hardware(name="another device")


class Thorough(ToyEvaluator):
    """One that can do all there is."""

    can_confirm = True
    measures_energy = True

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        return self.evaluate(candidate).model_copy(update={"notes": ("confirmed",)})

    def measure_energy(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        return evaluation.model_copy(update={"notes": ("no sensor",)})


class Gate(ToyEvaluator):
    """Waits in `evaluate` until it is let through."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.open = threading.Event(), threading.Event()

    def evaluate(self, candidate: Candidate) -> Evaluation:
        self.entered.set()
        assert self.open.wait(LONG_S)
        return super().evaluate(candidate)


class Worker:
    """A worker in a thread of this process; `said` is what it told."""

    def __init__(self, path: Path, evaluator: Evaluator | Callable[..., Evaluator], **more: Any):
        def factory(
            task: KernelTask, terms: Terms, on_progress: Callable[[str], None]
        ) -> Evaluator:
            self.terms.append(terms)
            if isinstance(evaluator, Evaluator):
                return evaluator
            return evaluator(task)

        self.said: list[str] = []
        self.terms: list[Terms] = []
        self.stop = threading.Event()
        self.code: int | None = None
        self._folder = JobFolder(path, lease_s=LEASE_S)
        self._options = {"evaluator_factory": factory, "say": self.said.append, **more}
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        self.code = serve(self._folder, stop=self.stop, **self._options)

    def join(self) -> int | None:
        self.thread.join(LONG_S)
        return self.code

    def heard(self, text: str) -> bool:
        return until(lambda: any(text in line for line in self.said))


def until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + LONG_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    return condition()


@contextmanager
def working(path: Path, *evaluators: Any, **more: Any) -> Iterator[list[Worker]]:
    workers = [Worker(path, evaluator, **more) for evaluator in evaluators]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.stop.set()
        for worker in workers:
            worker.join()


def spool(path: Path, task: KernelTask | None = None, **more: Any) -> SpoolEvaluator:
    more.setdefault("wait_s", LONG_S)
    return SpoolEvaluator(task or toy_task(), JobFolder(path, lease_s=LEASE_S), **more)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.farm.evaluator.FIRST_PAUSE_S", 0.01)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "farm"


class TestSpoolEvaluator(EvaluatorContract):
    @pytest.fixture
    def evaluator(self, path: Path) -> Iterator[Evaluator]:
        with working(path, Thorough(), Thorough()), closing(spool(path)) as evaluator:
            yield evaluator

    @pytest.fixture
    def working(self) -> Candidate:
        return WORKING

    @pytest.fixture
    def failing(self) -> dict[str, Candidate]:
        return {"runtime_error": Candidate(tunables={"BLOCK": 32, "TILE": 32, "UNROLL": 32})}


def test_it_can_what_the_workers_can(path: Path) -> None:
    with working(path, ToyEvaluator()), closing(spool(path)) as plain:
        assert not plain.can_confirm and not plain.measures_energy
    with working(path, Thorough()), closing(spool(path)) as able:
        assert able.can_confirm and able.measures_energy
        seen = able.evaluate(WORKING)
        assert able.confirm(WORKING, seen).notes == ("confirmed",)
        assert able.measure_energy(WORKING, seen).notes == ("no sensor",)


def test_a_resumed_run_finds_its_answers_without_any_worker(path: Path) -> None:
    toy = ToyEvaluator()
    with (
        suppress(KeyboardInterrupt),
        working(path, toy),
        closing(spool(path, run_id="r")) as first,
    ):
        seen = first.evaluate(WORKING)
        raise KeyboardInterrupt
    with closing(spool(path, run_id="r")) as again:
        assert again.hardware == first.hardware
        assert again.evaluate(WORKING) == seen
    assert len(toy.calls) == 1
    assert list((path / "queue").iterdir()) == []


def test_a_run_that_ends_normally_takes_its_answers_with_it(path: Path) -> None:
    toy = ToyEvaluator()
    with working(path, toy), closing(spool(path, run_id="other")) as other:
        other.evaluate(WORKING)
        kept = {place.name for place in (path / "done").iterdir()}
        with suppress(KeyboardInterrupt), closing(spool(path, run_id="r")) as interrupted:
            interrupted.evaluate(toy_task().baseline)
            raise KeyboardInterrupt
        assert len(list((path / "done").iterdir())) == 4
        with closing(spool(path, run_id="r")) as resumed:
            resumed.evaluate(WORKING)
        assert {place.name for place in (path / "done").iterdir()} == kept
    assert list((path / "done").iterdir()) == []


def test_a_resumed_run_waits_for_its_job_instead_of_asking_again(path: Path) -> None:
    gate = Gate()
    with working(path, gate):
        first = spool(path, run_id="r")
        with ThreadPoolExecutor(2) as pool:
            lost = pool.submit(first.evaluate, WORKING)
            assert gate.entered.wait(LONG_S)
            first.close()
            with pytest.raises(WorldError, match="closed"):
                lost.result()
            with closing(spool(path, run_id="r")) as second:
                found = pool.submit(second.evaluate, WORKING)
                gate.open.set()
                assert found.result().measured
    assert len(gate.calls) == 1


def test_closing_withdraws_what_nobody_has_taken(path: Path) -> None:
    with working(path, ToyEvaluator()):
        evaluator = spool(path)
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(evaluator.evaluate, WORKING) for _ in range(3)]
        assert until(lambda: len(list((path / "queue").glob("job-*"))) == 3)
        evaluator.close()
        for question in asked:
            with pytest.raises(WorldError, match="closed"):
                question.result()
    assert list((path / "queue").iterdir()) == []
    with pytest.raises(WorldError, match="closed"):
        evaluator.evaluate(WORKING)


# Workers that stop, break, or are of another kind.


def test_another_worker_takes_over_and_the_late_answer_is_dropped(path: Path) -> None:
    """The first is suspended, as it were: its heart stops, and it answers when all is over."""
    gate = Gate()
    slow = Worker(path, gate)
    with closing(spool(path)) as evaluator, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(evaluator.evaluate, WORKING)
        assert gate.entered.wait(LONG_S)
        (ticket,) = JobFolder(path).taken()
        JobFolder(path).fail(ticket, "as if its lease were over")
        with working(path, ToyEvaluator()):
            assert asked.result().measured
        gate.open.set()
        assert slow.heard("another worker had answered before")
        assert len(list((path / "done").iterdir())) == 2
    slow.stop.set()
    assert slow.join() == 0
    assert list((path / "taken").iterdir()) == []


def test_a_world_error_gives_the_job_back_once_and_a_second_ends_the_worker(path: Path) -> None:
    once = ToyEvaluator(fail_world_at=frozenset({1}))
    with working(path, once) as (worker,), closing(spool(path)) as evaluator:
        assert evaluator.evaluate(WORKING).measured
    assert worker.code == 0
    assert any("given back: the GPU has fallen off the bus" in line for line in worker.said)
    broken = Worker(path, ToyEvaluator(fail_world_at=frozenset(range(99))))
    with closing(spool(path)) as evaluator, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(evaluator.evaluate, WORKING)
        assert broken.join() == 2
        with working(path, ToyEvaluator()):
            assert asked.result().measured


def test_a_job_that_nobody_can_do_is_a_world_error_and_may_be_asked_again(path: Path) -> None:
    class Fragile(ToyEvaluator):
        def evaluate(self, candidate: Candidate) -> Evaluation:
            if candidate == WORKING:
                raise WorldError("the GPU has fallen off the bus")
            return super().evaluate(candidate)

    bad = [Worker(path, Fragile()) for _ in range(2)]
    with closing(spool(path, run_id="r")) as evaluator:
        evaluator.evaluate(toy_task().baseline)
        with pytest.raises(WorldError, match=r"3 workers took the job.*fallen off the bus"):
            evaluator.evaluate(WORKING)
        for worker in bad:
            worker.stop.set()
            worker.join()
    with working(path, ToyEvaluator()), closing(spool(path, run_id="r")) as resumed:
        assert resumed.evaluate(WORKING).measured


def test_what_the_evaluator_raises_is_raised_here(path: Path) -> None:
    class Recorded(ToyEvaluator):
        def evaluate(self, candidate: Candidate) -> Evaluation:
            raise NotRecorded("nobody measured that")

    with (
        working(path, Recorded()),
        closing(spool(path)) as evaluator,
        pytest.raises(NotRecorded, match=r"^nobody measured that$"),
    ):
        evaluator.evaluate(WORKING)


def test_a_task_that_cannot_be_prepared_is_the_submitters_to_mend(path: Path) -> None:
    def faulty(_task: KernelTask) -> Evaluator:
        raise InputError("the baseline of this task fails")

    with working(path, faulty), pytest.raises(InputError, match="baseline of this task fails"):
        spool(path)


def test_a_machine_that_cannot_judge_a_task_leaves_it_to_others(path: Path) -> None:
    lines: list[str] = []

    def unfit(task: KernelTask) -> Evaluator:
        if task.name == "other":
            return ToyEvaluator()
        raise UnfitMachine("no PyTorch here")

    other = toy_task().model_copy(update={"name": "other"})
    with working(path, unfit) as (worker,), ThreadPoolExecutor(1) as pool:
        asked = pool.submit(spool, path, on_progress=lines.append)
        assert worker.heard("cannot judge its task: no PyTorch here; jobs of this task are left")
        assert [ticket.attempt for ticket in JobFolder(path).queued()] == [1]
        with closing(spool(path, other)) as fits:
            assert fits.evaluate(WORKING).measured
        assert until(lambda: any("leaves it to others: no PyTorch here" in one for one in lines))
        assert not asked.done()
        with working(path, ToyEvaluator()), closing(asked.result()) as evaluator:
            assert evaluator.evaluate(WORKING).measured
    assert worker.code == 0


def test_a_worker_on_other_hardware_leaves_the_tasks_jobs_and_says_so(path: Path) -> None:
    with working(path, ToyEvaluator()):
        evaluator = spool(path)
    with closing(evaluator), ThreadPoolExecutor(1) as pool:
        asked = pool.submit(evaluator.evaluate, WORKING)
        with working(path, OtherHardware()) as (other,):
            assert other.heard("jobs of this task are left to others from now on")
            assert JobFolder(path).queued() and not asked.done()
            with working(path, ToyEvaluator()):
                assert asked.result().measured
        assert sum("given back" in line for line in other.said) == 1
    assert evaluator.hardware.name == "toy device"


def test_the_submitter_names_workers_on_other_hardware(path: Path) -> None:
    lines: list[str] = []
    with working(path, ToyEvaluator()), closing(spool(path, on_progress=lines.append)) as evaluator:
        folder = JobFolder(path)
        other = Heart(folder, role="worker", hardware=hardware_kind(OtherHardware.hardware)).start()
        assert until(
            lambda: (
                evaluator.evaluate(WORKING).measured
                and any(f"worker {other.id} has another device" in line for line in lines)
            )
        )
        other.stop()


def test_an_answer_from_other_hardware_does_not_count(path: Path) -> None:
    with working(path, ToyEvaluator()):
        evaluator = spool(path)
    with closing(evaluator), ThreadPoolExecutor(1) as pool:
        asked = pool.submit(evaluator.evaluate, WORKING)
        assert until(lambda: bool(JobFolder(path).queued()))
        (ticket,) = JobFolder(path).queued()
        forged = {
            "job_id": ticket.job_id,
            "kind": "evaluate",
            "worker": "w",
            "hardware": {"name": "another device"},
            "evaluation": ToyEvaluator().evaluate(WORKING).model_dump(mode="json"),
        }
        (path / "done" / f"{ticket.job_id}.json").write_text(json.dumps(forged))
        assert until(lambda: bool(list((path / "broken").glob("*.reason"))))
        with working(path, ToyEvaluator()):
            assert asked.result().measured


def test_no_worker_for_too_long_is_a_world_error_with_what_to_do(path: Path) -> None:
    lines: list[str] = []
    with pytest.raises(WorldError, match=r"no worker was alive .* rooftree worker /"):
        spool(path, wait_s=0.3, on_progress=lines.append)
    assert "waiting for 1 job in" in lines[0] and "no worker is alive" in lines[0]
    assert list((path / "queue").iterdir()) == []
    assert list((path / "workers").iterdir()) == []


def test_a_job_that_vanishes_is_submitted_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.farm.evaluator.LOOK_EVERY_S", 0.1)
    with working(path, ToyEvaluator()):
        evaluator = spool(path)
    with closing(evaluator), ThreadPoolExecutor(1) as pool:
        asked = pool.submit(evaluator.evaluate, WORKING)
        assert until(lambda: bool(JobFolder(path).queued()))
        (ticket,) = JobFolder(path).queued()
        (path / "queue" / ticket.name).write_text("garbage")
        with working(path, ToyEvaluator()):
            assert asked.result().measured
    assert len(list((path / "broken").glob("*.reason"))) == 1


# A worker's comings and goings.


def test_a_draining_worker_stays_while_somebody_submits(path: Path) -> None:
    assert Worker(path, ToyEvaluator(), drain=True).join() == 0
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(spool, path)
        assert until(lambda: path.exists() and bool(JobFolder(path).queued()))
        worker = Worker(path, ToyEvaluator(), drain=True)
        evaluator = asked.result()
        assert evaluator.evaluate(WORKING).measured
        assert worker.thread.is_alive()
        evaluator.close()
    assert worker.join() == 0
    assert list((path / "workers").iterdir()) == []


def test_a_draining_worker_does_what_was_left_in_the_queue(path: Path) -> None:
    with working(path, ToyEvaluator()):
        first = spool(path, run_id="r")
    job = first._job("evaluate", WORKING, None)
    first._folder.submit(job)
    first._heart.stop()
    assert Worker(path, ToyEvaluator(), drain=True).join() == 0
    assert JobFolder(path).answer_to(job) is not None


def test_a_worker_that_is_stopped_finishes_its_job(path: Path) -> None:
    gate = Gate()
    worker = Worker(path, gate)
    with closing(spool(path)) as evaluator, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(evaluator.evaluate, WORKING)
        assert gate.entered.wait(LONG_S)
        worker.stop.set()
        assert worker.heard("in hand may finish")
        gate.open.set()
        assert asked.result().measured
        assert worker.join() == 0


def test_a_worker_that_cannot_finish_in_time_gives_its_job_back(path: Path) -> None:
    gate = Gate()
    worker = Worker(path, gate, grace_s=0.1)
    with closing(spool(path)) as evaluator, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(evaluator.evaluate, WORKING)
        assert gate.entered.wait(LONG_S)
        worker.stop.set()
        assert worker.join() == 0
        assert [ticket.attempt for ticket in JobFolder(path).queued()] == [1]
        with working(path, ToyEvaluator()):
            assert asked.result().measured
        gate.open.set()


def test_one_evaluator_at_a_time_is_kept_and_closed(path: Path) -> None:
    open_now: list[str] = []
    most: list[int] = []

    class Counted(ToyEvaluator):
        def __init__(self, task: KernelTask) -> None:
            super().__init__()
            self.task = task
            open_now.append(task.name)
            most.append(len(open_now))

        def close(self) -> None:
            open_now.remove(self.task.name)

    other = toy_task().model_copy(update={"name": "other"})
    with (
        working(path, Counted, parallel=2),
        closing(spool(path)) as one,
        closing(spool(path, other)) as two,
        ThreadPoolExecutor(8) as pool,
    ):
        asked = [pool.submit(e.evaluate, WORKING) for _ in range(6) for e in (one, two)]
        assert all(question.result().measured for question in asked)
    assert open_now == [] and max(most) == 1


def test_a_task_on_other_terms_is_prepared_anew(path: Path) -> None:
    compiled = Terms(compiled=True)
    with (
        working(path, ToyEvaluator()) as (worker,),
        closing(spool(path)) as plain,
        closing(spool(path, terms=compiled)) as other,
    ):
        assert plain.evaluate(WORKING).measured
        assert other.evaluate(WORKING).measured
    assert worker.terms == [Terms(), compiled, Terms(), compiled]


def test_several_jobs_of_a_task_are_done_side_by_side(path: Path) -> None:
    met = threading.Barrier(2)

    class Together(ToyEvaluator):
        def evaluate(self, candidate: Candidate) -> Evaluation:
            met.wait(LONG_S)
            return super().evaluate(candidate)

    with (
        working(path, Together(), parallel=2),
        closing(spool(path)) as evaluator,
        ThreadPoolExecutor(2) as pool,
    ):
        assert all(e.measured for e in pool.map(evaluator.evaluate, [WORKING] * 2))


def test_malformed_jobs_do_not_stop_a_worker(path: Path) -> None:
    folder = JobFolder(path)
    for number in range(3):
        (folder.path / "queue" / Ticket(f"job-{number:032x}").name).write_bytes(b"\xff" * number)
    with working(path, ToyEvaluator()), closing(spool(path)) as evaluator:
        (folder.path / "tasks" / f"{toy_task().id}.json").write_text("{}")
        with pytest.raises(WorldError, match="missing from the folder, or damaged"):
            for number in range(99):
                evaluator._folder.put_task = lambda task: None  # type: ignore[method-assign]
                evaluator.evaluate(Candidate(tunables={**WORKING.tunables, "TILE": 2**number}))
    assert len(list((path / "broken").glob("*.reason"))) == 4


def test_the_command_answers_from_a_recording_and_refuses_to_pretend_a_gpu(
    toy_folder: Path,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from experiments.cli.commands import worker as command

    task = load_task(toy_folder)
    (tape,) = (toy_folder / "recordings").iterdir()
    with ThreadPoolExecutor(2) as pool:
        asked = pool.submit(spool, path, task)
        assert until(lambda: path.exists() and bool(JobFolder(path).queued()))
        code = pool.submit(command.worker, path, JudgingOptions(recording=tape), drain=True)
        with closing(asked.result()) as evaluator:
            assert evaluator.hardware.name == "Paper GPU"
            assert evaluator.evaluate(task.baseline).measured
        assert code.result() == 0
    assert "nobody submits: done" in capsys.readouterr().err
    monkeypatch.setattr(command, "gpu_problem", lambda device, torch=False: "no driver")
    with pytest.raises(InputError, match="no job can be measured here: no driver"):
        command.worker(path, JudgingOptions())


def test_a_recording_that_cannot_be_read_stops_the_worker_before_it_takes_a_job(
    path: Path, tmp_path: Path
) -> None:
    from experiments.cli.commands.worker import worker

    with pytest.raises(InputError, match="absent"):
        worker(path, JudgingOptions(recording=tmp_path / "absent.json.gz"))
    assert not path.exists()


def test_a_recording_of_another_task_is_not_the_submitters_to_mend(
    toy_folder: Path, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from experiments.cli.commands.worker import worker

    (tape,) = (toy_folder / "recordings").iterdir()
    task = load_task(toy_folder).model_copy(update={"summary": "another state of it"})
    with ThreadPoolExecutor(2) as pool:
        asked = pool.submit(spool, path, task)
        assert until(lambda: path.exists() and bool(JobFolder(path).queued()))
        code = pool.submit(worker, path, JudgingOptions(recording=tape), drain=True)
        with working(path, ToyEvaluator()):
            asked.result().close()
        assert code.result() == 0


@pytest.mark.parametrize(
    ("dialect", "level", "unsafe", "problem"),
    [
        ("kernelbench", "process", False, "nothing here would isolate"),
        ("kernelbench", "process", True, None),
        ("kernelbench", "partial", False, None),
        ("cuda", "process", False, None),
        ("space", "full", False, "--recording"),
    ],
)
def test_what_a_machine_lacks_is_found_before_a_task_is_prepared(
    monkeypatch: pytest.MonkeyPatch, dialect: str, level: str, unsafe: bool, problem: str | None
) -> None:
    from experiments.runs.wiring import remote

    lacking = {"landlock": "absent"} if level != "full" else {}
    isolation = Isolation.model_validate({"level": level, "missing": lacking})
    monkeypatch.setattr("profilers.children.processes.probe_isolation", lambda: isolation)
    monkeypatch.setattr(remote, "gpu_problem", lambda device, torch=False: None)
    task = toy_task().model_copy(update={"dialect": DIALECTS[dialect]})
    found = remote.machine_problem(task, device=0, unsafe=unsafe)
    assert found is None if problem is None else problem in (found or "")


def test_a_missing_pytorch_is_the_machines_for_pytorch_tasks_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from experiments.runs.wiring import remote

    def no_torch(device: int, torch: bool = False) -> str | None:
        return "no PyTorch" if torch else None

    monkeypatch.setattr(remote, "gpu_problem", no_torch)
    task = toy_task().model_copy(update={"dialect": CUDA})
    problem = task.model_copy(update={"dialect": KERNELBENCH})
    assert remote.machine_problem(task, device=0, unsafe=True) is None
    assert remote.machine_problem(problem, device=0, unsafe=True) == "no PyTorch"


# The whole loop.


def search(task: KernelTask, evaluator: Evaluator, *, parallel: int) -> Result:
    return Optimizer(
        task=task,
        proposer=OneStepProposer(),
        evaluator=evaluator,
        advisor=SilentAdvisor(),
        journal=ListJournal(),
        budget=Budget(evaluations=25),
        seed=3,
        parallel=parallel,
    ).run()


@pytest.mark.parametrize("parallel", [1, 3])
def test_a_search_over_replaying_workers_grows_the_same_tree(
    toy_folder: Path, path: Path, parallel: int
) -> None:
    from profilers.recordings.replay import ReplayEvaluator
    from profilers.recordings.t4 import load_recording

    task = load_task(toy_folder)
    (tape,) = (toy_folder / "recordings").iterdir()
    recording = load_recording(tape)
    direct = search(task, ReplayEvaluator(task, recording, seed=5), parallel=parallel)

    def replay(asked: KernelTask) -> Evaluator:
        return ReplayEvaluator(asked, recording, seed=5)

    with working(path, replay, replay), closing(spool(path, task)) as evaluator:
        remote = search(task, evaluator, parallel=parallel)
    assert remote.tree_digest == direct.tree_digest
    assert remote.best == direct.best


def test_it_says_on_how_many_gpus_its_workers_measure(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path / "farm", lease_s=LEASE_S)
    task = toy_task()
    kind = hardware_kind(ToyEvaluator.hardware)
    others = [
        Heart(folder, role="worker", device=1),
        Heart(folder, role="worker", device=1),
        Heart(folder, role="worker", device=2, hardware=kind),
        Heart(folder, role="worker", device=3, hardware="another device"),
        Heart(folder, role="worker", device=4, unfit={task.id: "no compiler"}),
        Heart(folder, role="submitter", device=5),
    ]
    for heart in others:
        heart.start()
    try:
        with (
            working(tmp_path / "farm", ToyEvaluator()),
            closing(SpoolEvaluator(task, JobFolder(tmp_path / "farm"))) as evaluator,
        ):
            assert evaluator.devices == 3, "its own worker's, and those of device 1 and 2"
    finally:
        for heart in others:
            heart.stop()
