"""Candidates that are judged by the workers of a Dask cluster, whatever happens to those."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="the extra [cluster] is not installed")

import dask
from distributed import Client, LocalCluster

from experiments.cluster.connecting import connected, own_cluster
from experiments.cluster.evaluator import RESOURCE, SLOTS, ClusterEvaluator
from experiments.cluster.orders import Report
from experiments.cluster.work import work
from experiments.runs.folders.journal import read_events
from experiments.runs.tasks.files import find_task
from mcts.domain import Candidate
from mcts.errors import InputError, NotRecorded, Suspended, WorldError
from mcts.journal.record import read_result
from mcts.loop.optimizer import Budget, Optimizer, Result
from mcts.options import JudgingOptions
from mcts.ports import Evaluator
from mcts.testing.evaluators import EvaluatorContract
from mcts.testing.toy import ToyEvaluator, toy_task
from profilers.recordings.recorder import record
from tests.experiments.conftest import ListJournal, OneStepProposer, SilentAdvisor
from tests.support import cluster_machines as machines
from tests.support.commands import completed

WORKING = Candidate(tunables={"BLOCK": 4, "TILE": 4, "UNROLL": 4})
FAILING = Candidate(tunables={"BLOCK": 32, "TILE": 32, "UNROLL": 32})
KILLING = Candidate(tunables=dict(machines.KILLS))
HANGING = Candidate(tunables=dict(machines.HANGS))
WORKERS = 3
pytestmark = pytest.mark.xdist_group("cluster")


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(machines.MARKS, str(tmp_path))
    return tmp_path


@pytest.fixture
def threads() -> int:
    """Of each worker."""
    return 1


@pytest.fixture
def cluster(marks: Path, threads: int) -> Iterator[LocalCluster]:
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 2}),
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=threads, resources={RESOURCE: 1},
            dashboard_address=None, env={machines.MARKS: str(marks)}, silence_logs=logging.CRITICAL,
        ) as found,
    ):  # fmt: skip
        yield found


Built = Callable[..., ClusterEvaluator]


@pytest.fixture
def built(cluster: LocalCluster) -> Iterator[Built]:
    """Evaluators of the cluster, closed at the end."""
    all_: list[ClusterEvaluator] = []

    def build(factory: Any = machines.toy, **more: Any) -> ClusterEvaluator:
        client = Client(cluster, set_as_default=False)
        found = ClusterEvaluator(
            toy_task(), client, factory=factory, judging=JudgingOptions(), **more
        )
        all_.append(found)
        return found

    yield build
    for each in all_:
        each.close()


class TestContract(EvaluatorContract):
    @pytest.fixture
    def evaluator(self, built: Built) -> Evaluator:
        return built()

    @pytest.fixture
    def working(self) -> Candidate:
        return WORKING

    @pytest.fixture
    def failing(self) -> dict[str, Candidate]:
        return {"runtime_error": FAILING}


def test_all_workers_judge_and_each_prepares_the_task_once(built: Built) -> None:
    evaluator = built()
    assert evaluator.devices == WORKERS
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(evaluator.evaluate, [WORKING] * 60))
    assert {one.status for one in found} == {"measured"}
    assert len(machines.marks("prepared")) <= WORKERS


def test_a_tree_does_not_depend_on_who_judges(built: Built) -> None:
    def searched(evaluator: Evaluator) -> Result:
        return Optimizer(
            task=evaluator.task, proposer=OneStepProposer(), evaluator=evaluator,
            advisor=SilentAdvisor(), journal=ListJournal(), budget=Budget(evaluations=20),
            parallel=3, finalists=0,
        ).run()  # fmt: skip

    ours, theirs = searched(built()), searched(ToyEvaluator())
    assert ours.tree_digest == theirs.tree_digest


def test_a_candidate_that_ends_three_workers_has_failed_and_the_others_go_on(built: Built) -> None:
    evaluator = built()
    found = evaluator.evaluate(KILLING)
    assert found.status == "runtime_error"
    assert "ended every worker that judged it" in found.message
    assert evaluator.evaluate(WORKING).status == "measured"


def test_a_worker_that_dies_is_made_up_for(built: Built, cluster: LocalCluster) -> None:
    evaluator = built()
    with ThreadPoolExecutor(6) as pool:
        waiting = [pool.submit(evaluator.evaluate, WORKING) for _ in range(30)]
        os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)
        assert {future.result(timeout=60).status for future in waiting} == {"measured"}


@pytest.mark.parametrize("threads", [SLOTS])
def test_who_was_beside_a_candidate_that_ends_workers_has_not_failed(built: Built) -> None:
    evaluator = built()
    asked = [KILLING, *[WORKING] * 24]
    with ThreadPoolExecutor(len(asked)) as pool:
        first, *others = pool.map(evaluator.evaluate, asked)
    assert first.status == "runtime_error"
    assert {one.status for one in others} == {"measured"}


@pytest.mark.parametrize("threads", [SLOTS])
def test_a_worker_with_threads_judges_several_side_by_side(
    built: Built, cluster: LocalCluster
) -> None:
    evaluator = built(machines.meeting, home=addresses(cluster)[0])
    with ThreadPoolExecutor(SLOTS) as pool:
        found = list(pool.map(evaluator.evaluate, [WORKING] * SLOTS))
    assert {one.status for one in found} == {"measured"}


def test_profiles_of_many_come_from_all_workers_in_order(built: Built) -> None:
    evaluator = built(machines.naming)
    many = [
        Candidate(tunables={"BLOCK": block, "TILE": 4, "UNROLL": 1}) for block in (4, 8, 16, 32)
    ]
    found = evaluator.profile_many(many)
    assert [profile.missing["candidate"] for profile in found] == [one.id for one in many]
    assert len({profile.missing["worker"] for profile in found}) == WORKERS
    assert evaluator.profile_many([]) == []


def test_a_recording_by_a_cluster_is_that_of_one_machine(built: Built) -> None:
    def recorded(evaluator: Evaluator) -> dict[str, Any]:
        found = record(toy_task(), evaluator, parallel=6, limit=20)
        return {
            str(one.key): (one.status, one.runtimes_us, one.message) for one in found.configurations
        }

    assert recorded(built()) == recorded(ToyEvaluator())


def test_its_home_is_asked_as_long_as_it_lives(built: Built, cluster: LocalCluster) -> None:
    home = addresses(cluster)[1]
    evaluator = built(machines.naming, home=home)
    assert evaluator.devices == 1

    def asked() -> set[str]:
        with ThreadPoolExecutor(6) as pool:
            found = pool.map(lambda one: evaluator.profile_many([one]), [WORKING] * 12)
            return {profile.missing["worker"] for (profile,) in found}

    assert asked() == {home}
    os.kill(cluster.workers[1].process.pid, signal.SIGKILL)
    _until(lambda: home not in addresses(cluster))
    others = asked()
    assert others and home not in others


def test_workers_with_other_hardware_are_left_out(built: Built) -> None:
    said: list[str] = []
    evaluator = built(machines.mixed, on_progress=said.append)
    with ThreadPoolExecutor(9) as pool:
        found = list(pool.map(evaluator.evaluate, [WORKING] * 30))
    assert {one.status for one in found} == {"measured"}
    assert sum("another device" in text for text in said) == WORKERS - 1
    assert evaluator.hardware.name == "toy device"


def test_a_worker_that_cannot_judge_the_task_says_why_and_is_left_out(built: Built) -> None:
    said: list[str] = []
    evaluator = built(machines.picky, on_progress=said.append)
    with ThreadPoolExecutor(9) as pool:
        list(pool.map(evaluator.evaluate, [WORKING] * 30))
    assert sum("no GPU here; it is left out" in text for text in said) == WORKERS - 1


def test_if_none_can_judge_the_task_the_reasons_are_the_error(built: Built) -> None:
    with pytest.raises(WorldError, match=r"no worker of the cluster can judge this task: .*no GPU"):
        built(machines.unfit)


def test_what_a_worker_raises_is_raised_here(built: Built) -> None:
    with pytest.raises(InputError, match="the task is wrong"):
        built(machines.refusing)
    with pytest.raises(NotRecorded, match="never recorded"):
        built(machines.forgetful).evaluate(WORKING)


def test_a_workers_own_fault_is_told_and_no_lost_scheduler(built: Built) -> None:
    with pytest.raises(WorldError, match=r"ValueError: a list where none was thought of") as told:
        built(machines.faulty)
    assert "lost" not in str(told.value)


def test_an_order_of_another_version_is_told_as_one(cluster: LocalCluster) -> None:
    with Client(cluster, set_as_default=False) as client:
        told = client.submit(work, '{"kind": "evaluate", "of": 1}', machines.toy).result()
    report = Report.model_validate_json(told)
    assert report.problem is not None and report.problem.kind == "WorldError"
    assert "another version" in report.problem.message


def test_an_evaluator_that_broke_is_built_anew_and_asked_again(built: Built) -> None:
    said: list[str] = []
    assert built(machines.breaking, on_progress=said.append).evaluate(WORKING).measured
    assert any("fallen off the bus" in text for text in said)


@pytest.mark.parametrize("workers_first", [False, True])
def test_the_end_of_a_cluster_is_no_verdict(
    built: Built, cluster: LocalCluster, workers_first: bool
) -> None:
    evaluator = built()
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            evaluator.evaluate(HANGING)
        except WorldError as error:
            failures.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    _until(lambda: bool(machines.marks("judged")))
    if workers_first:
        cluster.scale(0)
        _until(lambda: not cluster.workers)
    cluster.close()
    thread.join(60)
    assert isinstance(failures[0], Suspended)


def test_a_client_that_has_lost_its_scheduler_is_no_fault_of_the_program(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its loss and the client's own knowledge of it, Dask says nothing of workers."""
    evaluator = built()
    monkeypatch.setattr(Client, "scheduler_info", lambda *_, **__: {"type": "Scheduler"})
    evaluator._looked_at = 0.0
    with pytest.raises(Suspended, match="was lost"):
        evaluator.evaluate(WORKING)


def test_closing_lets_go_of_whoever_waits(built: Built) -> None:
    evaluator = built()
    failures: list[str] = []

    def ask() -> None:
        try:
            evaluator.evaluate(HANGING)
        except WorldError as error:
            failures.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    _until(lambda: bool(machines.marks("judged")))
    evaluator.close()
    thread.join(30)
    assert failures
    with pytest.raises(WorldError, match="closed"):
        evaluator.evaluate(WORKING)


def test_without_workers_it_waits_as_long_as_it_was_told(marks: Path) -> None:
    with (
        LocalCluster(n_workers=0, dashboard_address=None) as empty,
        Client(empty, set_as_default=False) as client,
        pytest.raises(WorldError, match="no worker with a GPU was there"),
    ):
        ClusterEvaluator(
            toy_task(), client, factory=machines.toy, judging=JudgingOptions(), wait_s=2
        )


def addresses(cluster: LocalCluster) -> list[str]:
    """Of the workers, in the order of their names."""
    return [worker.worker_address for worker in cluster.workers.values()]


def _until(done: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not done():
        assert time.monotonic() < ends, "it did not come about"
        time.sleep(0.05)


def device_of_worker(_: int) -> str:
    time.sleep(0.2)
    return os.environ["CUDA_VISIBLE_DEVICES"]


def test_a_cluster_of_this_machine_has_a_worker_for_each_device_and_lets_nobody_else_in() -> None:
    client, end = own_cluster([0, 3])
    try:
        found = client.map(device_of_worker, range(8), resources={RESOURCE: 1})
        assert set(client.gather(found)) == {"0", "3"}
        address = client.scheduler.address
        assert address.startswith("tls://127.0.0.1:")
        with pytest.raises((OSError, TimeoutError, TypeError)):
            Client(address.replace("tls", "tcp"), timeout=2, set_as_default=False)
    finally:
        client.close()
        end()


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("nonsense", "write ADDRESS as tcp://HOST:PORT"),
        ("missing.json", "there is no such scheduler file"),
    ],
)
def test_an_address_that_is_none_is_refused_at_once(where: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        connected(where)


def test_a_run_with_a_scheduler_file_gives_the_tree_of_a_replay(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps(cluster.scheduler.identity()))
    (recording,) = find_task("row_softmax").recordings
    shared = [
        "optimize",
        "row_softmax",
        "--evaluations",
        "20",
        "--parallel",
        "3",
        "--memory",
        "off",
    ]
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    completed(*shared, "--evaluator", f"dask:{file}", "--recording", recording, "-o", ours)
    completed(*shared, "--evaluator", "replay", "-o", theirs)
    digests = {read_result(read_events(run)).tree_digest for run in (ours, theirs)}
    assert len(digests) == 1
