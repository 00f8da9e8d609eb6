"""Real processes on a real terminal: resize, Ctrl-C, and a search watched from beside it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.runs.folders.journal import SqliteJournal
from mcts.journal.record import Result
from tests.experiments.conftest import ListJournal
from tests.support.terminal import Terminal


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def test_the_panel_follows_the_terminal_and_the_run(
    finished: tuple[ListJournal, Result], tmp_path: Path, terminals: list[Terminal]
) -> None:
    events = finished[0].events()
    with SqliteJournal(tmp_path / "run.sqlite") as journal:
        for event in events:
            journal.append(event.kind, event.payload)
            if event.kind == "asked" and event.payload["trial"] == 9:
                break
        terminal = Terminal("watch", tmp_path, cols=100, rows=30)
        terminals.append(terminal)
        wide = terminal.read_until("8 told.*1 in flight")
        assert len(wide) <= 30 and max(map(len, wide)) <= 100
        assert any("★" in line for line in wide) and any("#9 about to" in line for line in wide)
        for cols, rows in ((40, 10), (120, 20)):
            terminal.resize(cols, rows)
            frame = terminal.read_until(rf"(?s)\A[^\n]{{{cols}}}\n.*8 told")
            assert len(frame) <= rows and max(map(len, frame)) <= cols
            assert any("best" in line for line in frame)
        for event in events:
            journal.append(event.kind, event.payload)
    code, left = terminal.finish()
    assert code == 0
    assert "the search is over: evaluations spent" in left
    assert f"node {finished[1].best.id}; 40 trials" in left


def test_ctrl_c_leaves_the_terminal_as_it_was(
    finished: tuple[ListJournal, Result], tmp_path: Path, terminals: list[Terminal]
) -> None:
    with SqliteJournal(tmp_path / "run.sqlite") as journal:
        for event in list(finished[0].events())[:40]:
            journal.append(event.kind, event.payload)
        terminal = Terminal("watch", tmp_path, cols=80, rows=24)
        terminals.append(terminal)
        terminal.read_until("best")
        terminal.process.send_signal(signal.SIGINT)
        code, left = terminal.finish()
        assert code == 0
        assert left.strip() == "no longer watching; the search goes on"
        assert terminal.text.count("\x1b[?1049h") == terminal.text.count("\x1b[?1049l") == 1
        assert terminal.text.rindex("\x1b[?25h") > terminal.text.rindex("\x1b[?25l")
        journal.append("stopped", {"reason": "the search was not touched"})


def test_a_search_and_a_watcher_side_by_side(
    toy_folder: Path, tmp_path: Path, terminals: list[Terminal]
) -> None:
    run = tmp_path / "run"
    searching = Terminal(
        "optimize", toy_folder, "--evaluations", 40, "--out", run, cols=90, rows=24
    )
    terminals.append(searching)
    searching.read_past("run folder")
    watching = Terminal("watch", run, cols=90, rows=24)
    terminals.append(watching)
    code, left = searching.finish()
    assert code == 0 and "report" in left
    code, left = watching.finish()
    assert code == 0
    assert "the search is over" in left and "40 trials" in left
