"""Killed at random moments and resumed each time: the same tree, and nothing measured twice."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from experiments.runs.folders.journal import SqliteJournal, read_events

ROOT = Path(__file__).resolve().parents[3]
KILLS = 20
TRIALS = 44
_SUICIDE = """
import os, signal, sys
from experiments.runs.folders.journal import SqliteJournal
moment, appends, append = int(sys.argv.pop(1)), 0, SqliteJournal.append

def counting(self, kind, payload):
    global appends
    appends += 1
    if appends == moment:
        os.kill(os.getpid(), signal.SIGKILL)
    return append(self, kind, payload)

SqliteJournal.append = counting
from experiments.cli import main
main()
"""
"""A real process that takes SIGKILL just before it would write its n-th event."""


def dies_before(moment: int, *words: object, cwd: Path) -> int:
    """Run the command line until its `moment`-th append; the exit status."""
    return subprocess.run(
        [sys.executable, "-c", _SUICIDE, str(moment), *map(str, words)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    ).returncode


def finish(*words: object, cwd: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "experiments", *map(str, words), "--json"],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_twenty_kills_change_neither_the_tree_nor_the_number_of_measurements(
    toy_folder: Path, tmp_path: Path
) -> None:
    start = ("optimize", toy_folder, "--evaluator", "replay", "--evaluations", TRIALS, "--seed", 7)
    whole = finish(*start, "--out", tmp_path / "whole", cwd=tmp_path)
    events = len(read_events(tmp_path / "whole"))
    rng = random.Random(os.environ.get("ROOFTREE_KILL_SEED", "0"))
    run = tmp_path / "killed"
    words: tuple[object, ...] = (*start, "--out", run)
    for _ in range(KILLS):
        assert dies_before(rng.randint(2, events // KILLS), *words, cwd=tmp_path) == -9
        words = ("resume", run)
    assert len(read_events(run)) < events + KILLS
    resumed = finish("resume", run, cwd=tmp_path)
    assert resumed["tree_digest"] == whole["tree_digest"]
    assert resumed["best_us"] == whole["best_us"]
    with SqliteJournal(run / "run.sqlite") as journal:
        measured = Counter(
            event.payload["candidate_id"] for event in journal.events() if event.kind == "measured"
        )
    assert max(measured.values()) == 1
