"""Options about several devices and clusters, before anything is asked of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from experiments.runs.options.config import RunConfig
from experiments.runs.options.option_conflicts import check_evaluator
from experiments.runs.wiring.resolving import _is_address, widened
from mcts.errors import InputError
from mcts.options import JudgingOptions, SearchOptions
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


@pytest.mark.parametrize(
    ("began", "given", "now"),
    [
        ({"device": 1}, {"device": 0}, (0, None)),
        ({"device": 1}, {}, (1, None)),
        ({"device": 1}, {"devices": "0,1"}, (0, "0,1")),
        ({"devices": "all"}, {"device": 1}, (1, None)),
    ],
)
def test_a_resumed_run_takes_the_gpu_it_is_given(
    began: dict[str, Any], given: dict[str, Any], now: tuple[int, str | None]
) -> None:
    config = _config("gpu", **began)
    moved = widened(config, judging=JudgingOptions(**given)).judging
    assert (moved.device, moved.devices) == now
    assert moved.evaluator == "gpu"


@pytest.mark.parametrize(
    ("evaluator", "given"),
    [
        ("replay", {"device": 0}),
        ("dask:n:1", {"device": 1}),
        ("dask:n:1", {"devices": "all"}),
        ("gpu", {"device": 0, "devices": "0,1"}),
    ],
)
def test_a_run_that_is_not_told_its_gpu_cannot_be_moved(
    evaluator: str, given: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match="--device"):
        widened(_config(evaluator), judging=JudgingOptions(**given))


def _config(evaluator: str, **judging: Any) -> RunConfig:
    return RunConfig(
        rooftree="0",
        run_id="1",
        task="t",
        task_name="t",
        search=SearchOptions(),
        judging=JudgingOptions(evaluator=evaluator, **judging),
    )


def test_an_address_is_told_from_a_file(tmp_path: Path) -> None:
    assert _is_address("tcp://node1:8786")
    assert _is_address("node1:8786")
    assert not _is_address("scheduler.json")
    assert not _is_address("/shared/queue")
    odd = tmp_path / "a:1"
    odd.touch()
    assert not _is_address(str(odd))
