"""A start of ncu may be made ahead; it waits without harm, is used once, and never outlives us."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from profilers import ncu
from profilers.ncu import NcuReport
from profilers.profiles.starts import ProfilerStart, ProfilerStarts
from tests.support.orphan import gone, soon
from tests.support.tools import put_tool

# Starts what it is asked to profile, as ncu does, and notes its process.
RUN = """
while [ "$1" != "--log-file" ]; do shift; done
shift 2
"$@" &
echo $! >> "@folder@/started"
wait $!
"""


@pytest.fixture
def starts() -> Iterator[ProfilerStarts]:
    starts = ProfilerStarts()
    yield starts
    starts.close()


def started(tools: Path, count: int) -> list[int]:
    """The profiled processes, once there are so many."""
    noted = tools / "started"

    def found() -> list[int]:
        return [int(line) for line in noted.read_text().split()] if noted.exists() else []

    assert soon(lambda: len(found()) >= count, within_s=30)
    return found()


@pytest.fixture
def tool(tools: Path) -> Path:
    put_tool(tools / "ncu", RUN.replace("@folder@", str(tools)))
    return tools


def test_a_start_made_ahead_is_the_next_one_and_is_used_once(
    tool: Path, starts: ProfilerStarts
) -> None:
    starts.prepare()
    starts.prepare()
    (first,) = started(tool, 1)
    start = starts.take()
    assert not start.ended and started(tool, 1) == [first]
    another = starts.take()
    assert started(tool, 2)[0] == first
    another.close()
    start.close()
    assert start.ended and all(gone(pid) for pid in started(tool, 2))


def test_threads_that_prepare_at_once_leave_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, starts: ProfilerStarts
) -> None:
    made: list[threading.Event] = []

    def collect(*_: Any, stop: threading.Event, **__: Any) -> NcuReport:
        made.append(stop)
        assert stop.wait(30)
        return NcuReport((), {})

    monkeypatch.setattr(ncu, "collect", collect)
    threads = [threading.Thread(target=starts.prepare) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    starts.close()
    assert len(made) == 1 and made[0].is_set()


def test_what_waits_is_ended_when_all_is(tool: Path, starts: ProfilerStarts) -> None:
    starts.prepare()
    (waiting,) = started(tool, 1)
    starts.close()
    starts.close()
    assert gone(waiting)
    starts.prepare()
    assert starts._waiting is None


def test_a_start_that_has_not_lasted_is_made_anew(
    monkeypatch: pytest.MonkeyPatch, starts: ProfilerStarts
) -> None:
    asked: list[int] = []

    def collect(*_: Any, **__: Any) -> NcuReport:
        asked.append(1)
        return NcuReport((), {"ncu": "was killed by SIGKILL"})

    monkeypatch.setattr(ncu, "collect", collect)
    starts.prepare()
    waiting = starts._waiting
    assert waiting is not None
    waiting._thread.join(30)
    start = starts.take()
    assert start is not waiting and not waiting._spec.parent.exists()
    with closing(start):
        found = start.go({"variants": []}, limit_s=30)
    assert found.report.missing == {"ncu": "was killed by SIGKILL"}
    assert found.lines is None and not found.stopped and len(asked) == 2


def test_progress_survives_a_start_that_has_to_be_stopped(tools: Path) -> None:
    said = json.dumps({"variant": 3})
    put_tool(tools / "ncu", f"echo '{said}' > progress.jsonl; sleep 60\n")
    with closing(ProfilerStart()) as start:
        time.sleep(1.0)  # as a start waits that was made ahead
        found = start.go({"variants": []}, limit_s=0.5)
    assert found.stopped and found.lines == [{"variant": 3}] and not found.report.kernels
    assert found.report.missing["ncu"] == "ncu was stopped after 0.5 s"
    assert not start.progress.parent.exists()


def test_a_failure_of_ours_is_raised_where_the_report_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def collect(*_: Any, **__: Any) -> NcuReport:
        raise OSError("no space left")

    monkeypatch.setattr(ncu, "collect", collect)
    with closing(ProfilerStart()) as start, pytest.raises(OSError, match="no space left"):
        start.go({"variants": []}, limit_s=30)


def test_where_no_start_can_be_made_ahead_the_next_profile_says_why(
    monkeypatch: pytest.MonkeyPatch, starts: ProfilerStarts
) -> None:
    def full() -> None:
        raise OSError("no space left")

    monkeypatch.setattr("profilers.profiles.starts.ScratchFolder", full)
    starts.prepare()
    with pytest.raises(OSError, match="no space left"):
        starts.take()


def test_the_process_that_waits_ends_with_the_one_that_asked(tmp_path: Path) -> None:
    asking = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    words = ["-m", "profilers.launching.ncu_target", str(tmp_path / "spec"), str(asking.pid)]
    waiting = subprocess.Popen([sys.executable, *words])
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(timeout=2)
        asking.kill()
        assert waiting.wait(timeout=30) == 0  # though nobody has waited for the other one
    finally:
        waiting.kill()
        asking.kill()
        waiting.wait()
        asking.wait()
