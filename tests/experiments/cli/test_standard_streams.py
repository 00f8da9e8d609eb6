"""Standard output that is closed, full, or read by nobody any more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def shell(words: str, redirection: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        ["bash", "-c", f'"$0" -m experiments {words} {redirection}', sys.executable],
        capture_output=True, text=True, cwd=ROOT, timeout=120,
        env={**inherited, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.mark.parametrize("words", ["tasks", "--help", "--version", "tasks --help"])
def test_a_full_output_is_one_line_and_a_closed_one_is_no_error(words: str) -> None:
    full = shell(words, "> /dev/full")
    assert full.returncode == 2
    assert full.stderr == "error: cannot use the output: No space left on device\n"
    closed = shell(words, ">&-")
    assert (closed.returncode, closed.stderr) == (0, "")


@pytest.mark.parametrize("words", ["tasks", "--help", "--version", "tasks --help"])
def test_a_reader_that_went_away_is_no_traceback(words: str) -> None:
    gone = shell(words, "| true; exit ${PIPESTATUS[0]}")
    assert gone.returncode in (0, 1) and gone.stderr == ""


def test_an_error_that_nobody_can_be_told_keeps_its_code() -> None:
    assert shell("tree /nowhere", "> /dev/full 2> /dev/full").returncode == 2
    assert shell("tree /nowhere", "<&- >&- 2>&-").returncode == 2


def test_no_file_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    store = tmp_path / "memory.sqlite"
    shell(f"memory export - --memory {store}", "<&- >&- 2>&-")
    assert not store.exists() or store.read_bytes()[:6] == b"SQLite"
