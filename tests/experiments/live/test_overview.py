"""The runs of a folder, each as a line."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from experiments.live.overview import Overview, RunLine, run_folders
from experiments.runs.folders.journal import DATABASE, SqliteJournal
from tests.support.commands import completed, optimized, refused, rooftree


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    for name, count in (("a", 3), ("deep/er/b", 5)):
        optimized("transpose", root / name, "--evaluator", "replay", "--evaluations", count)
    return root


def by_name(root: Path) -> dict[str, RunLine]:
    return {str(line.folder.relative_to(root)): line for line in Overview(root).lines()}


def test_every_run_below_is_found_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    assert [str(one.relative_to(folder)) for one in run_folders(folder)] == ["a", "deep/er/b"]
    assert list(run_folders(folder / "a")) == [folder / "a"]
    (tmp_path / "link").symlink_to(folder)
    assert list(run_folders(tmp_path)) == []


def test_a_line_says_where_a_run_stands(folder: Path) -> None:
    line = by_name(folder)["deep/er/b"]
    assert line.state == "finished" and line.reason == "evaluations spent"
    assert (line.trials, line.budget) == (5, 5) and (line.speedup or 0) > 1
    assert line.title.startswith("transpose on NVIDIA H200") and line.cost == ""


def test_a_run_that_goes_on_crashed_or_is_damaged_is_told_apart(
    folder: Path, tmp_path: Path
) -> None:
    for name in ("running", "crashed", "damaged"):
        shutil.copytree(folder / "a", tmp_path / name)
    with SqliteJournal(tmp_path / "crashed" / DATABASE) as journal:
        journal.append("resumed", {})
    (tmp_path / "damaged" / DATABASE).write_bytes(b"no database" * 1000)
    with SqliteJournal(tmp_path / "running" / DATABASE) as journal:
        journal.append("resumed", {})
        found = by_name(tmp_path)
    assert {name: line.state for name, line in found.items()} == {
        "running": "running", "crashed": "crashed", "damaged": "damaged",
    }  # fmt: skip
    assert "killed" in found["crashed"].reason and found["damaged"].reason


def test_looking_again_sees_what_is_new(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "a", tmp_path / "a")
    overview = Overview(tmp_path)
    (line,) = overview.lines()
    completed("resume", tmp_path / "a", "--evaluations", 6)
    (later,) = overview.lines()
    assert (line.trials, later.trials) == (3, 6) and later.changed_at > line.changed_at


def test_the_command_lists_the_latest_first(folder: Path) -> None:
    os.utime(folder)
    shown = completed("runs", folder, columns=200).stdout
    lines = shown.splitlines()
    assert lines[0].split()[:3] == ["run", "state", "best"] and "deep/er/b" in lines[1]
    found = json.loads(completed("runs", folder, "--json").stdout)
    assert [one["trials"] for one in found] == [5, 3]


def test_a_folder_without_runs_or_none_is_said(tmp_path: Path) -> None:
    assert completed("runs", tmp_path).stdout == f"no runs in {tmp_path}\n"
    refused(rooftree("runs", tmp_path / "nowhere"), "does not exist")
