"""Traps: local optima of recorded spaces that single steps end in."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.benchmarks.evidence.traps import Landscape, main
from experiments.runs.tasks.files import bundled, find_task
from profilers.recordings.t4 import load_recording


def land(times: list[list[float]], baseline: tuple[int, int] = (0, 0)) -> Landscape:
    """A space of two tunables."""
    shape = np.array(times).shape
    rows = np.argwhere(np.ones(shape))
    return Landscape(rows, np.array(times).ravel(), baseline[0] * shape[1] + baseline[1])


def test_a_slope_has_no_trap() -> None:
    found = land([[9.0, 8.0], [7.0, 6.0]])
    assert not len(found.traps) and found.trapped == 0.0


def test_a_local_optimum_is_a_trap_for_what_leads_there() -> None:
    found = land([[2.0, 5.0], [5.0, 1.0]])
    assert found.times_us[found.traps].tolist() == [2.0]
    assert found.trapped == 0.25  # the others step to the best


def test_a_local_optimum_as_good_as_the_best_is_none() -> None:
    assert not len(land([[1.04, 5.0], [5.0, 1.0]]).traps)


def test_several_steps_are_followed_to_their_end() -> None:
    found = land([[4.0, 3.0, 2.0]])
    assert found.descents.tolist() == [2, 2, 2]


@pytest.mark.parametrize("name", sorted(bundled()))
def test_every_bundled_recording_has_a_trap_of_its_own(name: str) -> None:
    assert len(Landscape.of(load_recording(find_task(name).recordings[-1])).traps)


def test_the_command_prints_a_row_for_each_task(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gelu", "transpose"]) == 0
    assert [line.split(" | ")[0] for line in capsys.readouterr().out.splitlines()[2:]] == [
        "| gelu", "| transpose",
    ]  # fmt: skip
    assert main(["nothing"]) == 2
    assert "unknown task" in capsys.readouterr().err
