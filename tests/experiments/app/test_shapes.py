"""A task with two weighted shapes through the command line, replaying a recording of both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.runs.tasks.files import load_task
from mcts.domain import Candidate, Evaluation, Timing
from mcts.domain.evaluation import ShapeTiming
from mcts.errors import InputError
from tests.experiments.conftest import ModelEvaluator, model_time_us, write_task
from tests.support.commands import completed, json_of, optimized, optimized_json

TASK_TOML = """
name = "two"

[[buffer]]
name = "x"
role = "input"
shape = ["n"]

[[buffer]]
name = "y"
role = "output"
shape = ["n"]

[[workload]]
name = "train"
shape = { n = 1048576 }
weight = 3.0

[[workload]]
name = "serve"
shape = { n = 4096 }
weight = 1.0

[[workload]]
name = "odd"
shape = { n = 1001 }
weight = 0.0
"""


class TwoShapes(ModelEvaluator):
    """`train` takes what the formula says, `serve` takes 50 us and longer with vectors."""

    def evaluate(self, candidate: Candidate) -> Evaluation:
        found = super().evaluate(candidate)
        if found.timing is None:
            return found
        usual = {"train": model_time_us(self.task.baseline.tunables), "serve": 50.0}
        own = {"train": found.timing.median_us,
               "serve": 50.0 * (1 + 0.02 * (int(str(candidate.tunables["VEC"])) - 1))}  # fmt: skip
        shapes = tuple(
            ShapeTiming(workload=name, weight=weight, **_times(usual[name], own[name]))
            for name, weight in self.task.weights.items()
        )
        totals = [sum(self.task.weights[name] * us[name] for name in us) for us in (usual, own)]
        timing = Timing(**_times(*totals), shapes=shapes)
        return found.model_copy(update={"timing": timing})


def _times(usual: float, own: float) -> dict[str, float]:
    times = {"median_us": own, "low_us": own, "high_us": own, "baseline_us": usual}
    speedup = usual / own
    ends = {"speedup": speedup, "speedup_low": speedup, "speedup_high": speedup}
    return {**times, **ends, "rounds": 5}


FASTER_ON_ONE = ("evaluate", "--evaluator", "replay", "--set", "BLOCK=256", "--set", "VEC=4")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_task(tmp_path / "two", TASK_TOML, TwoShapes)


def test_every_shape_has_a_line_and_a_regression_is_marked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    done = completed(*FASTER_ON_ONE, folder)
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[2].startswith("BLOCK=256 VEC=4 measured 44.24 1.")
    assert lines[3].startswith("train, weight 0.75 41.3") and "regression" not in lines[3]
    assert lines[4] == "serve, weight 0.25 regression 53.00 0.943x 0.943 to 0.943"
    assert "times of several workloads are weighted" in done.stdout
    assert "slower than the baseline on serve; a search would not hand it back" in done.stdout


def test_json_has_every_shape(folder: Path) -> None:
    (row,) = json_of(*FASTER_ON_ONE, folder)["candidates"]
    train, serve = row["shapes"]
    assert row["regressions"] == ["serve"]
    assert (train["workload"], train["weight"], train["regressed"]) == ("train", 0.75, False)
    assert serve["speedup_low"] <= serve["speedup"] <= serve["speedup_high"] < 0.99
    weighted = 0.75 * train["time_us"] + 0.25 * serve["time_us"]
    assert row["time_us"] == pytest.approx(weighted)
    assert row["speedup"] == pytest.approx(row["baseline_us"] / row["time_us"])


def test_the_best_kernel_slows_no_shape_down(folder: Path, tmp_path: Path) -> None:
    optimized(folder, tmp_path / "run", "--evaluations", 40, "--seed", 1)
    best = json.loads((tmp_path / "run" / "best" / "candidate.json").read_text())
    assert best["tunables"]["VEC"] == 1, "vectors are much faster on one shape, slower on the other"
    assert best["evaluation"]["timing"]["speedup"] > 1.2
    assert len(best["evaluation"]["timing"]["shapes"]) == 2


def test_two_timed_workloads_of_one_shape_are_refused(folder: Path) -> None:
    text = (folder / "task.toml").read_text().replace("n = 4096", "n = 1048576")
    (folder / "task.toml").write_text(text)
    with pytest.raises(InputError, match="train and serve have the same shape: leave one out"):
        load_task(folder)


def test_two_workloads_of_one_name_are_refused(folder: Path) -> None:
    text = (folder / "task.toml").read_text().replace('"serve"', '"train"')
    (folder / "task.toml").write_text(text)
    with pytest.raises(InputError, match="two workloads share a name"):
        load_task(folder)


def test_a_run_prints_every_shape_of_its_best_kernel(folder: Path, tmp_path: Path) -> None:
    words = ("--evaluations", 10, "--seed", 1)
    done = optimized(folder, tmp_path / "run", *words)
    told = [line for line in done.stdout.splitlines() if line.startswith("shape ")]
    assert [line.split()[1] for line in told] == ["train", "serve"]
    assert all("x (" in line and "slower" not in line for line in told)
    found = optimized_json(folder, tmp_path / "again", *words)
    assert [row["workload"] for row in found["shapes"]] == ["train", "serve"]
    assert found["regressions"] == []
