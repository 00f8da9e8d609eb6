"""Options about several devices and clusters, before anything is asked of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from experiments.runs.options.option_conflicts import check_evaluator
from experiments.runs.wiring.resolving import _is_address
from mcts.errors import InputError
from mcts.options import JudgingOptions
from mcts.testing.toy import toy_task


@pytest.mark.parametrize("devices", ["", "a", "0,,1", "0,0", "-1", "0, 1", "²"])
def test_a_list_of_devices_that_is_none_is_refused(devices: str) -> None:
    with pytest.raises(ValidationError):
        JudgingOptions(devices=devices)


@pytest.mark.parametrize("devices", ["all", "0", "0,1", "3,1"])
def test_devices_are_kept_as_they_are_written(devices: str) -> None:
    assert JudgingOptions(devices=devices).devices == devices


@pytest.mark.parametrize(
    ("judging", "said"),
    [
        (JudgingOptions(evaluator="replay", devices="all"), "--devices is for --evaluator gpu"),
        (JudgingOptions(evaluator="gpu", devices="all", device=1), "exclude each other"),
        (JudgingOptions(evaluator="dask:n:1", device=1), "--device is for --evaluator gpu"),
        (JudgingOptions(evaluator="gpu", wait_minutes=1), "--wait is for"),
        (JudgingOptions(evaluator="gpu", verdict_within=60), "--verdict-within is for KernelBench"),
    ],
)
def test_options_that_would_do_nothing_are_refused(judging: JudgingOptions, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_evaluator(toy_task(), judging)


def test_an_address_is_told_from_a_file(tmp_path: Path) -> None:
    assert _is_address("tcp://node1:8786")
    assert _is_address("node1:8786")
    assert not _is_address("scheduler.json")
    assert not _is_address("/shared/queue")
    odd = tmp_path / "a:1"
    odd.touch()
    assert not _is_address(str(odd))
