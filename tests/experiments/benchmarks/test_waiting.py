"""Answers that come while a study looks elsewhere are not missed."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from experiments.benchmarks.measurements.waiting import Answers
from mcts.options import ModelOptions


def answers(queue: Path, **more: float) -> Answers:
    return Answers(ModelOptions(name="queue/m", queue=queue, **more))  # type: ignore[arg-type]


def write(path: Path, text: str, *, age_s: float = 60) -> None:
    path.write_text(text)
    os.utime(path, (time.time() - age_s, time.time() - age_s))


def test_a_reply_that_came_during_the_last_pass_begins_another(tmp_path: Path) -> None:
    (tmp_path / "b.prompt.md").write_text("?")
    waiting = answers(tmp_path, timeout_s=0.2)
    waiting.look()
    (tmp_path / "c.prompt.md").write_text("?")
    write(tmp_path / "c.reply.md", "!")  # asked, given up and answered, while b still waits
    assert waiting.more()
    waiting.look()
    assert not waiting.more(), "and nothing more came"


def test_a_reply_counts_once_it_is_written(tmp_path: Path) -> None:
    waiting = answers(tmp_path, timeout_s=0.3)
    write(tmp_path / "a.reply.md", "")
    waiting.look()
    assert not waiting.more(), "an empty file is none yet"
    patient = answers(tmp_path)
    patient.look()
    later = threading.Timer(0.5, write, (tmp_path / "a.reply.md", "!"))
    later.start()
    assert patient.more()
    later.join()
    write(tmp_path / "b.reply.json", "{}", age_s=0)
    patient.look()
    began = time.monotonic()
    assert patient.more() and time.monotonic() - began > 0.2, "it has to be left alone first"


def test_without_a_queue_nothing_is_waited_for() -> None:
    assert not Answers(ModelOptions(name="m")).more()
