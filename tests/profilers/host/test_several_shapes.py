"""Problems with several workloads: a verdict on all of them, of one evaluator for each."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments.runs.tasks.problems import problem_task
from mcts.domain import (
    Candidate,
    Evaluation,
    Hardware,
    KernelTask,
    Policy,
    Profile,
    Timing,
    Verification,
)
from mcts.errors import InputError
from mcts.ports import Evaluator
from profilers.host.several_shapes import SeveralShapesEvaluator, on_workload
from profilers.kernelbench.judge.building import Builds, CandidateBuilder
from profilers.kernelbench.judge.evaluator import KernelBenchEvaluator
from profilers.kernelbench.judge.settings import KernelBenchSettings

PROBLEM = """
import torch
from torch import nn

WORKLOADS = {"long": 3.0, "short": 1, "odd": 0}
ROWS = {"long": 1024, "short": 64, "odd": 7}


class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)

    def forward(self, x):
        return torch.relu(self.linear(x))


def get_inputs(workload="long"):
    return [torch.randn(ROWS[workload], 64)]


def get_init_inputs():
    return [64]
"""
TASK = problem_task(PROBLEM, Path("rows.py"), Policy())
CANDIDATE = Candidate(source=PROBLEM + "\nModelNew = Model\n# another one\n")


def timing(speedup: float, us: float = 100.0, **more: Any) -> Timing:
    return Timing(
        median_us=us / speedup, low_us=0.99 * us / speedup, high_us=1.01 * us / speedup,
        baseline_us=us, speedup=speedup, speedup_low=0.99 * speedup, speedup_high=1.01 * speedup,
        rounds=20, baseline="eager PyTorch", baseline_samples_us=(us,) * 20, **more,
    )  # fmt: skip


def measured(speedup: float, us: float = 100.0, notes: tuple[str, ...] = ()) -> Evaluation:
    return Evaluation(
        candidate_id=CANDIDATE.id, status="measured", notes=notes,
        verification=Verification(passed=True, rounds=5, max_error=us), timing=timing(speedup, us),
    )  # fmt: skip


class Told(Evaluator):
    """Says of its workload what it was told to say."""

    name = "told"

    def __init__(self, task: KernelTask, settings: KernelBenchSettings, says: Evaluation) -> None:
        self.task, self.settings, self.says = task, settings, says
        self.asked = 0
        self.is_closed = False

    @property
    def hardware(self) -> Hardware:
        return Hardware(name=self.task.workloads[0].name)

    def evaluate(self, candidate: Candidate) -> Evaluation:
        self.asked += 1
        return self.says

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        return Profile(missing={"what": self.task.workloads[0].name})

    def close(self) -> None:
        self.is_closed = True


def judge_of(**says: Evaluation) -> tuple[SeveralShapesEvaluator, dict[str, Told]]:
    made: dict[str, Told] = {}

    def make(task: KernelTask, settings: KernelBenchSettings) -> Evaluator:
        name = task.workloads[0].name
        made[name] = Told(task, settings, says[name])
        return made[name]

    return SeveralShapesEvaluator(TASK, make, settings=KernelBenchSettings()), made


def test_the_weighted_latency_counts() -> None:
    judge, made = judge_of(long=measured(2.0), short=measured(0.5, 20.0), odd=measured(9.0))
    found = judge.evaluate(CANDIDATE).timing
    assert found is not None
    assert found.median_us == pytest.approx(0.75 * 50 + 0.25 * 40)
    assert found.baseline_us == pytest.approx(0.75 * 100 + 0.25 * 20)
    assert found.speedup == pytest.approx(80 / 47.5)
    assert found.speedup_low < found.speedup < found.speedup_high
    assert found.baseline == "eager PyTorch"
    assert [shape.workload for shape in found.shapes] == ["long", "short"]
    assert found.regressions == ("short",)
    assert made["odd"].asked == 1  # verified all the same
    assert judge.hardware.name == "long"
    assert judge.profile(CANDIDATE, judge.evaluate(CANDIDATE)).missing == {"what": "long"}


def test_rounds_and_errors_are_those_of_all_workloads() -> None:
    judge, _ = judge_of(long=measured(2.0), short=measured(1.0, 300.0), odd=measured(1.0))
    verification = judge.evaluate(CANDIDATE).verification
    assert verification == Verification(passed=True, rounds=15, max_error=300.0)


def test_what_fails_on_one_workload_fails_and_the_others_are_not_asked() -> None:
    wrong = Evaluation(
        candidate_id=CANDIDATE.id, status="wrong_result", message="3 of 8 elements wrong",
        verification=Verification(passed=False, rounds=1),
    )  # fmt: skip
    judge, made = judge_of(long=measured(2.0), short=wrong, odd=measured(1.0))
    found = judge.confirm(CANDIDATE, measured(2.0))
    assert found.status == "wrong_result"
    assert found.message == "on short: 3 of 8 elements wrong"
    assert [told.asked for told in made.values()] == [1, 1, 0]


def test_a_remark_is_made_once() -> None:
    judge, _ = judge_of(
        long=measured(1.0, notes=("a", "b")), short=measured(1.0, notes=("a",)),
        odd=measured(1.0, notes=("a", "c")),
    )  # fmt: skip
    assert judge.evaluate(CANDIDATE).notes == ("a", "on long: b", "on odd: c")


def test_the_device_is_shared_and_taken_once() -> None:
    _, made = judge_of(long=measured(1.0), short=measured(1.0), odd=measured(1.0))
    assert list(made) == ["long", "short", "odd"]
    assert [told.settings.gpu_is_held for told in made.values()] == [False, True, True]
    shares = {told.settings.memory_share for told in made.values()}
    assert shares == {KernelBenchSettings().memory_share / 3}


def test_an_evaluator_that_cannot_be_opened_closes_those_before_it() -> None:
    made = []

    def make(task: KernelTask, settings: KernelBenchSettings) -> Evaluator:
        if made:
            raise InputError("too large")
        made.append(Told(task, settings, measured(1.0)))
        return made[0]

    with pytest.raises(InputError, match="too large"):
        SeveralShapesEvaluator(TASK, make, settings=KernelBenchSettings())
    assert made[0].is_closed


def test_candidates_wait_for_each_other() -> None:
    judge, made = judge_of(long=measured(1.0), short=measured(1.0), odd=measured(1.0))
    waits, stages = threading.Event(), list[str]()

    def hear(_candidate_id: str, stage: str) -> None:
        stages.append(stage)
        waits.set()

    judge.tell_stages(hear)
    other = threading.Thread(target=judge.evaluate, args=(CANDIDATE,))
    with judge._turn(CANDIDATE):
        other.start()
        assert waits.wait(30)
        assert made["long"].asked == 0
    other.join()
    assert stages == ["waiting"]
    judge.close()
    assert all(told.is_closed for told in made.values())


def test_the_task_of_a_workload_is_a_problem_of_its_own() -> None:
    own = on_workload(TASK, "odd")
    assert own.reference is not None
    assert own.baseline.source.startswith(own.reference.rstrip())
    assert [(one.name, one.weight) for one in own.workloads] == [("odd", 1.0)]
    other = TASK.model_copy(update={"baseline": CANDIDATE.model_copy(update={"source": "x = 1"})})
    assert on_workload(other, "odd").baseline.source == "x = 1"


@pytest.fixture(scope="module")
def on_cpu() -> Iterator[SeveralShapesEvaluator]:
    pytest.importorskip("torch")
    # Loose clocks: what the host's scheduler does is not what is tested here.
    settings = KernelBenchSettings(
        blocks=4, least_blocks=4, calls=6, call_deadline_s=8.0, load_deadline_s=8.0, unsafe=True,
        clock_slack_us=50_000.0, widest_interval=math.inf,
    )  # fmt: skip
    built: Builds = {}
    judge = SeveralShapesEvaluator(
        TASK,
        lambda task, own: KernelBenchEvaluator(task, device="cpu", settings=own, built=built),
        settings=settings,
    )
    yield judge
    judge.close()


def test_pytorch_on_two_shapes_is_timed_on_both(on_cpu: SeveralShapesEvaluator) -> None:
    found = on_cpu.evaluate(CANDIDATE)
    assert found.status in ("measured", "suspect"), found.message  # clocks of a busy host
    if found.measured:
        assert found.timing is not None
        assert [shape.workload for shape in found.timing.shapes] == ["long", "short"]


def test_what_compiles_when_it_is_imported_is_built_once_for_all_shapes(
    on_cpu: SeveralShapesEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []
    plain = CandidateBuilder._import

    def counted(builder: CandidateBuilder, source: Path, *more: Any) -> str:
        built.append(source.read_text())
        return plain(builder, source, *more)

    monkeypatch.setattr(CandidateBuilder, "_import", counted)
    compiling = Candidate(source=CANDIDATE.source + "# load_inline, the judge may think\n")
    found = on_cpu.evaluate(compiling)
    assert found.status in ("measured", "suspect"), found.message
    on_cpu.confirm(compiling, found)
    assert built == [compiling.source]


def test_a_shape_that_is_wrong_is_named(on_cpu: SeveralShapesEvaluator) -> None:
    source = PROBLEM.replace(
        "return torch.relu(self.linear(x))", "return torch.relu(self.linear(x)) + (len(x) == 7)"
    )
    found = on_cpu.evaluate(Candidate(source=source + "\nModelNew = Model\n"))
    assert found.status in ("wrong_result", "suspect"), found.message
    if found.status == "wrong_result":
        assert found.message.startswith("on odd: ")
