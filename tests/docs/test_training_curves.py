"""The picture of what training came to."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.tools.training_curves import LOGS, STUDIED, course, draw, running_mean


def test_a_mean_runs_over_what_is_there() -> None:
    assert running_mean([1.0, 3.0, 5.0, 7.0], window=2) == [1.0, 2.0, 4.0, 6.0]


def test_logs_have_rewards_of_three_seeds() -> None:
    for name in ("grpo", "grpo-2", "grpo-3"):
        steps, rewards = course(LOGS / STUDIED / f"{name}.jsonl", "reward")
        assert steps == list(range(1, 201)) and min(rewards) >= -1


def test_the_picture_is_of_the_logs(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw(picture=tmp_path / "one.svg")
    draw(picture=tmp_path / "two.svg")
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text() and text.count("<path") > 20
