"""A one-step study's gains over parents that were measured again on the children's GPU."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from experiments.benchmarks.evidence.parents_again import main, measured_again
from experiments.benchmarks.measurements.store import MeasurementStore
from experiments.benchmarks.one_step.folder import OneStepFolder
from mcts.errors import InputError

TOLD = (
    Path(__file__).parents[3] / "experiments" / "benchmarks" / "evidence" / "model_studies" / "told"
)
AGAIN = TOLD / "parents_again.sqlite"


def test_only_the_parents_speedups_change() -> None:
    folder = OneStepFolder(TOLD)
    before = list(folder.lines())
    with closing(MeasurementStore(AGAIN, read_only=True)) as store:
        after = list(measured_again(folder.plan(), before, store))
    assert len(after) == len(before) > 100
    assert any(
        ours.parent_speedup != theirs.parent_speedup
        for ours, theirs in zip(before, after, strict=True)
    )
    for ours, theirs in zip(before, after, strict=True):
        assert ours.speedup == theirs.speedup and ours.key == theirs.key
        low, high = theirs.parent_interval
        assert low <= theirs.parent_speedup <= high


def test_its_tables_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(TOLD), str(AGAIN)]) == 0
    said = capsys.readouterr().out
    assert "24 parents of 10 problems" in said and "tools against each arm" in said


def test_a_store_without_a_parent_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.sqlite"
    with closing(MeasurementStore(empty)) as store, pytest.raises(InputError, match="not measured"):
        list(measured_again(OneStepFolder(TOLD).plan(), [], store))
    assert main([str(TOLD), str(tmp_path / "none.sqlite")]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert main([str(TOLD)]) == 2
