"""Making a run folder: one process owns it, and a failed start removes only what it made."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.runs.folders import folder as run_folders
from experiments.runs.folders.folder import create
from experiments.runs.options.config import RunConfig
from experiments.runs.tasks.files import TaskSource, find_task
from mcts.errors import InputError
from mcts.options import JudgingOptions, SearchOptions

SLOW_FILES = """
import os, runpy, sys, time
for name in ("mkdir", "open", "rmdir", "unlink", "stat", "scandir", "replace"):
    def slow(*args, _real=getattr(os, name), **kwargs):
        time.sleep(0.02)
        return _real(*args, **kwargs)
    setattr(os, name, slow)
sys.argv[0] = "rooftree"
runpy.run_module("experiments", run_name="__main__", alter_sys=True)
"""


@pytest.fixture
def source() -> TaskSource:
    return find_task("row_softmax")


@pytest.fixture
def config(source: TaskSource) -> RunConfig:
    return RunConfig(
        rooftree="0", task="row_softmax", task_name=source.task.name,
        judging=JudgingOptions(evaluator="replay"), search=SearchOptions(proposer="scripted"),
    )  # fmt: skip


def test_who_comes_second_leaves_the_run_of_the_first_alone(
    source: TaskSource, config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    create(source, config, out=out)
    before = sorted(out.rglob("*"))
    monkeypatch.setattr(run_folders, "check_free", lambda _: None)  # it looked a moment earlier
    with pytest.raises(InputError, match="another rooftree process is making a run"):
        create(source, config, out=out)
    assert sorted(out.rglob("*")) == before


@pytest.mark.parametrize("there", [True, False])
def test_a_start_that_fails_removes_what_it_made(
    there: bool,
    source: TaskSource,
    config: RunConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    out = tmp_path / "run"
    if there:
        out.mkdir()
    monkeypatch.setattr(run_folders, "write_config", full)
    with pytest.raises(OSError, match="No space"):
        create(source, config, out=out)
    assert out.exists() == there
    assert not there or not list(out.iterdir())


def test_of_two_at_once_on_a_slow_disk_one_finishes(tmp_path: Path) -> None:
    words = ["optimize", "row_softmax", "--evaluations", "4", "--quiet", "--out", "run"]
    both = [
        subprocess.Popen(
            [sys.executable, "-c", SLOW_FILES, *words],
            cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    said = [process.communicate(timeout=300) for process in both]
    codes = sorted(process.returncode for process in both)
    assert codes == [0, 2], said
    assert (tmp_path / "run" / "report.html").is_file()
    assert not any("Traceback" in text for pair in said for text in pair)
