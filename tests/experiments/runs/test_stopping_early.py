"""Which runs end near the least time of their traffic without being told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.runs.folders.folder import RunFolder
from experiments.runs.options.config import RunConfig
from experiments.runs.wiring.resolving import STOP_WITHIN, stopping_early
from mcts.options import JudgingOptions, Limits, ModelOptions, SearchOptions
from tests.support import formula_gpu
from tests.support.commands import completed, rooftree


def config(proposer: str, evaluator: str, share: float | None = None) -> RunConfig:
    return RunConfig(
        rooftree="1",
        run_id="r",
        task="toy",
        task_name="toy",
        search=SearchOptions(proposer=proposer),
        judging=JudgingOptions(evaluator=evaluator),
        limits=Limits(stop_within=share),
        model=ModelOptions(),
    )


@pytest.mark.parametrize(
    ("proposer", "evaluator", "given", "share"),
    [
        ("llm", "gpu", None, STOP_WITHIN),
        ("llm", "dask:scheduler.json", None, STOP_WITHIN),
        ("llm", "gpu", 0.0, 0.0),
        ("llm", "gpu", 0.3, 0.3),
        ("llm", "replay", None, None),
        ("scripted", "gpu", None, None),
    ],
)
def test_a_model_whose_variants_are_measured_stops_near_the_floor_unless_told(
    proposer: str, evaluator: str, given: float | None, share: float | None
) -> None:
    asked = config(proposer, evaluator, given)
    assert stopping_early(asked).limits.stop_within == share
    assert asked.limits.stop_within == given


def test_optimize_applies_it_and_writes_it_down(
    toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    formula_gpu.install(monkeypatch)
    words = ("optimize", toy_folder, "--evaluator", "formula-gpu", "--evaluations", 2)
    asked = ("--model", "queue/person", "--llm-queue", tmp_path / "q", "--llm-timeout", 0.1)
    rooftree(*words, *asked, "--out", tmp_path / "model")
    assert RunFolder(tmp_path / "model").config.limits.stop_within == STOP_WITHIN
    completed(*words, "--out", tmp_path / "scripted")
    assert RunFolder(tmp_path / "scripted").config.limits.stop_within is None
