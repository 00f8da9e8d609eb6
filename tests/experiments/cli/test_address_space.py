"""Limits of address space: one line and an exit code, whatever they leave room for."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.cli import address_space
from experiments.cli.address_space import LEAST_MIB, PER_CORE_MIB
from experiments.cli.commands import show
from tests.support.commands import rooftree

CORES = len(os.sched_getaffinity(0))


@pytest.mark.parametrize("limit_mib", [200, 300, 400, 500])
def test_too_little_is_one_line_and_never_a_hang(tmp_path: Path, limit_mib: int) -> None:
    bytes_ = limit_mib * 2**20
    ended = subprocess.run(
        [sys.executable, "-m", "experiments", "optimize", "row_softmax", "--evaluator", "replay",
         "--evaluations", "20", "--out", str(tmp_path / "run")],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_)),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    (line,) = ended.stderr.splitlines()
    assert ended.returncode == 2
    assert line.startswith(f"error: the address space is limited to {limit_mib} MiB (ulimit -v)")


def test_enough_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    least = LEAST_MIB + PER_CORE_MIB * min(64, CORES)
    for limit, fits in ((None, True), (least, True), (least - 1, False)):
        monkeypatch.setattr(address_space, "limit_mib", lambda limit=limit: limit)
        assert (address_space.problem() is None) == fits


@pytest.mark.parametrize(
    ("error", "limit", "words"),
    [
        (MemoryError(), 900, "MemoryError, with the address space limited to 900 MiB (ulimit -v)"),
        (RuntimeError("can't start new thread"), 900, "can't start new thread, with the address"),
        (MemoryError(), None, "memory ran out (MemoryError)"),
    ],
)
def test_what_runs_out_later_is_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Exception, limit: int | None, words: str
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(address_space, "problem", lambda: None)
    monkeypatch.setattr(address_space, "limit_mib", lambda: limit)
    monkeypatch.setattr(show, "examine", fail)
    done = rooftree("doctor")
    assert done.exit_code == 2 and len(done.stderr.splitlines()) == 1
    assert words in done.stderr


def test_our_own_errors_stay_what_they_are_without_a_limit() -> None:
    assert address_space.exhausted(RuntimeError("a mistake")) is None or address_space.limit_mib()
