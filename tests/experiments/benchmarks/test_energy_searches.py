"""Searches by energy beside searches by time: what is run, what is gone on with, and the table."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmarks.evidence import energy_searches
from experiments.benchmarks.evidence.energy_searches import (
    measure,
    metered,
    metered_row,
    read,
    read_metered,
    table,
)
from experiments.runs.folders.journal import read_events
from mcts.errors import InputError
from mcts.ports import Event
from tests.support.commands import completed

MEASURED: dict[str, Any] = {
    "time_us": 101.0, "baseline_us": 100.0, "speedup": 0.99, "speedup_low": 0.98,
    "speedup_high": 1.0, "message": "", "notes": [],
    "energy": {
        "energy_mj": 44.0, "baseline_mj": 50.0, "ratio_low": 0.87, "ratio_high": 0.89,
        "call_us": 113.3, "baseline_call_us": 110.0,
    },
}  # fmt: skip
METERED = [
    {"tunables": {"BLOCK": each}, "time_us": us, "energy_mj": mj, "call_us": load, "idle_w": 127.0}
    for each, us, mj, load in (
        (64, 100.0, 60.0, 110.0), (128, 101.0, 63.0, 105.0), (256, 109.0, 66.0, None),
        (512, 200.0, 40.0, 200.0),
    )
]  # fmt: skip


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that are run; a search leaves a run folder behind."""
    commands: list[list[str]] = []

    def rooftree(words: Sequence[str], _options: argparse.Namespace) -> str:
        commands.append(list(words))
        if words[0] == "optimize":
            run = Path(words[words.index("--out") + 1])
            run.mkdir(parents=True)
            (run / "config.toml").touch()
        return json.dumps({"candidates": [MEASURED]})

    monkeypatch.setattr(energy_searches, "_rooftree", rooftree)
    monkeypatch.setattr(energy_searches, "metered", lambda _run: [METERED[0]])
    return commands


def _options(folder: Path, device: int | None = None) -> argparse.Namespace:
    return argparse.Namespace(folder=folder, device=device, evaluations=9, seed=5)


def test_two_searches_differ_in_their_objective_alone_and_are_compared(
    tmp_path: Path, said: list[list[str]]
) -> None:
    measure("gelu", _options(tmp_path, device=1))
    first, second, third = said
    changed = {(a, b) for a, b in zip(first, second, strict=True) if a != b}
    runs = tuple(str(tmp_path / "gelu" / each) for each in ("time", "energy"))
    assert changed == {("time", "energy"), runs}
    winners = [f"{run}/best/kernel.cu" for run in runs]
    assert third[:5] == ["evaluate", "gelu", winners[1], "--against", winners[0]]
    assert "--energy" in third and third[third.index("--device") + 1] == "1"
    names = {"candidate": "energy/best/kernel.cu", "over": "time/best/kernel.cu"}
    assert read(tmp_path, []) == {"gelu": {"candidates": [MEASURED | names]}}
    assert read_metered(tmp_path, []) == {"gelu": [METERED[0]]}


def test_what_is_there_is_not_done_again(tmp_path: Path, said: list[list[str]]) -> None:
    (tmp_path / "gelu" / "time").mkdir(parents=True)
    (tmp_path / "gelu" / "time" / "result.json").touch()
    begun = tmp_path / "gelu" / "energy"
    begun.mkdir()
    (begun / "config.toml").touch()
    measure("gelu", _options(tmp_path))
    assert [words[0] for words in said] == ["resume", "evaluate"]
    assert said[0][1] == str(begun)
    measure("gelu", _options(tmp_path))
    assert len(said) == 2


def test_the_table_has_both_ratios_and_what_is_asked_of_them() -> None:
    slower = {**MEASURED, "speedup": 0.9, "speedup_low": 0.89, "speedup_high": 0.91}
    lines = table({"a": {"candidates": [MEASURED]}, "b": {"candidates": [slower]}})
    assert (
        "| 100.0, 50 | 101.0, 44 | 0.880 (0.870 to 0.890) | 1.010 (1.000 to 1.020) | 1.030 | yes |"
        in (lines[2])
    )
    assert lines[3].endswith("| no |")


def test_variants_about_as_fast_are_told_by_energy_and_power() -> None:
    assert metered_row("a", METERED) == [
        "a", "4", "2", "1.000 to 1.050", "545 to 606", "127 to 127"
    ]  # fmt: skip


def test_a_task_of_which_no_energy_is_known_is_left_out(
    tmp_path: Path, said: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(energy_searches, "metered", lambda _run: [])
    measure("gelu", _options(tmp_path))
    assert said and read(tmp_path, []) and read_metered(tmp_path, []) == {}
    (tmp_path / "gelu" / "metered.json").write_text('{"b": 1}')
    with pytest.raises(InputError, match="holds no energies"):
        read_metered(tmp_path, [])


def test_a_run_tells_each_variant_of_which_it_knows_the_energy_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    words = ["optimize", "transpose", "--evaluator", "replay", "--evaluations", "4"]
    completed(*words, "--seed", "1", "--out", run)
    assert metered(run) == []
    energy = {"energy_mj": 7.0, "low_mj": 6.9, "high_mj": 7.1, "window_s": 1.0, "idle_w": 120.0}

    def with_energy(path: Path) -> list[Event]:
        events = list(read_events(path))
        for event in events:
            if event.kind in ("measured", "confirmed"):
                event.payload["evaluation"]["energy"] = energy
        return events

    monkeypatch.setattr(energy_searches, "read_events", with_energy)
    found = metered(run)
    assert len(found) == 5
    assert all(one["energy_mj"] == 7.0 and one["idle_w"] == 120.0 for one in found)
    assert [one["time_us"] for one in found] == sorted(one["time_us"] for one in found)
    assert len({json.dumps(one["tunables"]) for one in found}) == len(found)


def test_a_winner_without_energy_says_why() -> None:
    unknown = {**MEASURED, "energy": None, "notes": ["energy was not measured: MIG is on"]}
    assert (
        "not measured: energy was not measured: MIG is on"
        in (table({"a": {"candidates": [unknown]}})[2])
    )


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "compared.json").write_text("[]")
    with pytest.raises(InputError, match="holds no comparison"):
        read(tmp_path, [])


def test_a_step_hands_over_what_it_prints_and_none_begins_when_time_is_up(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    options = argparse.Namespace(until=float("inf"))
    words = ["optimize", "transpose", "--evaluator", "replay", "--out", str(tmp_path / "run")]
    said = energy_searches._rooftree([*words, "--evaluations", "3", "--json"], options)
    assert json.loads(said)["evaluations"] == 3
    options.until = 0.0
    with pytest.raises(energy_searches.TimeIsUp):
        energy_searches._rooftree(words, options)
    assert "transpose" in capfd.readouterr().err
