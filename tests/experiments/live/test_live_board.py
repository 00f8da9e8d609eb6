"""The state of a run from its journal, event by event, and the panel that shows it."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from experiments.live import Display, Panel, PlainLines, progress_display
from experiments.live.board import Board
from experiments.live.screen import can_draw, drawn
from experiments.live.tree_rows import rows
from mcts.errors import JournalError
from mcts.journal.record import Result, read_result
from mcts.loop.budget import Budget
from mcts.ports import Event
from tests.experiments.conftest import ListJournal

Run = tuple[ListJournal, Result]
NOW = 1000.0
HOSTILE = "\x1b[2J\x1b]0;title\x07\u202e<script> [bold] \x00" + "long " * 100


def board_of(events: Iterable[Event], *, every_s: float = 1.0) -> Board:
    board = Board()
    for at, event in enumerate(events):
        board.take(event, NOW + at * every_s)
    return board


def event(kind: str, /, **payload: Any) -> Event:
    return Event(0, kind, payload)


def until(events: Iterable[Event], kind: str, count: int) -> list[Event]:
    """The events up to the `count`-th of a kind."""
    taken = []
    for entry in events:
        taken.append(entry)
        count -= entry.kind == kind
        if count == 0:
            break
    return taken


def test_the_board_says_what_the_finished_run_says(finished: Run) -> None:
    journal, result = finished
    board = board_of(journal.events())
    assert board.best == result.best.id
    assert (board.told, board.unique) == (result.evaluations, result.unique)
    assert sum(board.failures.values()) == result.failed
    assert {id: spot.visits for id, spot in board.spots.items()} == {
        node.id: node.visits for node in result.nodes
    }
    assert board.path_to(result.best.id) == [node.id for node in result.path_to(result.best)]
    assert not board.running and board.in_flight == 0
    assert board.curve == sorted(board.curve)


def test_at_every_moment_it_says_what_the_journal_says_by_then(finished: Run) -> None:
    events = list(finished[0].events())
    board = Board()
    for at, entry in enumerate(events):
        board.take(entry, NOW)
        if entry.kind == "told" and len(board.spots) % 8 == 0:
            by_then = read_result(events[: at + 1])
            assert board.best == by_then.best.id
            assert board.reader.spending == by_then.spending


def test_a_trial_goes_through_its_stages() -> None:
    board = Board()
    stages = []
    for entry in (
        event("asked", trial=1, parent=0, seed=1, kind="repair", ordinal=0),
        event("proposing", trial=1),
        event("measuring", trial=1, candidate_id="c"),
    ):
        board.take(entry, NOW)
        stages.append(board.flights[0].doing)
    assert stages == ["about to repair", "proposing", "being measured"]
    assert (board.flights[0].trial, board.flights[0].parent, board.in_flight) == (1, 0, 1)
    board.take(event("abandoned", trial=1, reason="the model is away"), NOW)
    assert board.flights == [] and board.last == "trial 1 abandoned: the model is away"


def test_branches_are_counted_while_they_are_measured(finished: Run) -> None:
    measured = next(e for e in finished[0].events() if e.kind == "measured")
    asked = event("asked", trial=7, parent=0, seed=1, kind="improve", ordinal=0)
    board = board_of(
        [
            asked,
            event("measuring", trial=7, candidate_id="a"),
            Event(0, "measured", {**measured.payload, "trial": 7}),
            event("measuring", trial=7, candidate_id="b"),
        ]
    )
    assert board.flights[0].doing == "branch 2 being measured"


def test_profiling_and_ablations_are_under_way_without_a_trial() -> None:
    board = board_of([event("profiling", candidate_id="c"), event("removing", key="3:m")])
    assert [flight.doing for flight in board.flights] == ["profiling", "weighing a method"]
    assert board.in_flight == 0
    board.take(event("resumed"), NOW)
    assert board.flights == []


def test_time_runs_on_while_the_run_does(finished: Run) -> None:
    events = until(finished[0].events(), "told", 5)
    known = max(float(e.payload.get("elapsed_s", 0)) for e in events)
    board = board_of(events, every_s=0.0)
    assert board.elapsed_s(NOW + 30) == pytest.approx(known + 30)
    board.take(event("stopped", reason="interrupted", elapsed_s=known), NOW)
    assert board.elapsed_s(NOW + 99) == known


def test_a_damaged_journal_is_named_as_such() -> None:
    with pytest.raises(JournalError, match="damaged"):
        Board().take(event("told", trial=1), NOW)


# The rows of the tree.


@pytest.mark.parametrize("most", [3, 5, 12, 24])
def test_the_tree_keeps_to_its_rows_and_shows_best_and_newest(finished: Run, most: int) -> None:
    board = board_of(finished[0].events())
    shown = rows(board, most)
    assert 3 <= len(shown) <= most
    assert shown[0].head == "baseline"
    assert sum(row.style == "best" for row in shown) == 1
    assert any(f"#{max(board.spots)}" in row.words for row in shown)


def test_the_tree_shows_where_trials_are_under_way(finished: Run) -> None:
    events = until(finished[0].events(), "asked", 9)
    board = board_of(events)
    flying = [row for row in rows(board, 12) if row.style == "flight"]
    assert [row.head for row in flying] == ["#9"]


def test_before_the_baseline_there_is_no_tree(finished: Run) -> None:
    assert rows(board_of(until(finished[0].events(), "started", 1)), 12) == []


# The panel.


def panel_of(board: Board, **more: Any) -> Panel:
    panel = Panel(title="toy on Paper GPU", minutes=None, board=board, clock=lambda: 0.0,
                  now=lambda: NOW, **more)  # fmt: skip
    panel.take(board.progress(now=NOW, caps=Budget(evaluations=50), known=False))
    return panel


def shown(panel: Panel, width: int, height: int | None) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, height=height or 50).print(
        panel.render(width=width, height=height)
    )
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [20, 40, 59, 60, 100, 200])
@pytest.mark.parametrize("height", [3, 6, 10, 14, 24, 60])
def test_the_panel_fits_every_terminal(finished: Run, width: int, height: int) -> None:
    lines = shown(panel_of(board_of(until(finished[0].events(), "asked", 20))), width, height)
    assert len(lines) <= height
    assert all(cell_len(line) <= width for line in lines)
    assert any("best" in line for line in lines)


def test_a_small_panel_keeps_the_most_important_facts(finished: Run) -> None:
    board = board_of(until(finished[0].events(), "asked", 20))
    text = "\n".join(shown(panel_of(board), 40, 10))
    best = board.verdict(board.best or 0)
    assert best is not None and f"{best.speedup:.2f}x" in text
    for part in ("19 of 50", "gone", "#20 about to"):
        assert part in text


def test_a_roomy_panel_tells_failures_budget_tree_and_what_is_under_way(finished: Run) -> None:
    board = board_of(until(finished[0].events(), "asked", 30))
    panel = panel_of(board)
    budget = Budget(evaluations=50, cost_usd=2.0)
    panel.take(board.progress(now=NOW, caps=budget, known=False))
    text = "\n".join(shown(panel, 100, 40))
    for part in ("29 of 50", "compile failed", "at most  2 USD", "1 in flight", "★", "baseline",
                 "#30 about to", "latest"):  # fmt: skip
        assert part in text


def test_no_text_of_a_run_controls_the_terminal(finished: Run) -> None:
    board = board_of(until(finished[0].events(), "asked", 6))
    board.last, board.title = HOSTILE, HOSTILE
    panel = panel_of(board)
    panel.rename(HOSTILE)
    panel.show_line(HOSTILE)
    for width, height in ((100, 40), (40, 10)):
        lines = shown(panel, width, height)
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", "".join(lines))
        assert len(lines) <= height and all(cell_len(line) <= width for line in lines)


def test_an_ended_run_has_nothing_under_way_and_its_clock_stands(finished: Run) -> None:
    board = board_of(until(finished[0].events(), "asked", 9))
    panel = panel_of(board)
    panel.end("then it crashed", board.progress(now=NOW, caps=None, known=False))
    text = "\n".join(shown(panel, 100, 40))
    assert "gone, then it crashed" in text
    assert "about to" not in text and "8 told" in text


def test_plain_lines_are_lines_whatever_was_said(finished: Run) -> None:
    out = io.StringIO()
    board = board_of(until(finished[0].events(), "told", 6))
    board.last = HOSTILE
    now = board.progress(now=NOW, caps=Budget(evaluations=50), known=False)
    PlainLines(out, clock=lambda: 0.0)(
        replace(now, spending=replace(now.spending, cost=Decimal("1.5"), replies=1))
    )
    assert out.getvalue().count("\n") == 1 and len(out.getvalue()) < 320
    assert "1.50 USD" in out.getvalue() and not re.search("[\x00\x07\x1b\u202e]", out.getvalue())


# The second screen.


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_printed_during_the_panel_are_repeated_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out, heard = Tty(), list[str]()
    before = sys.stderr
    with drawn(out, lambda width, height: "the panel", on_line=heard.append):
        print("no worker is alive", file=sys.stderr)
        sys.stderr.write("half a line")
        assert "no worker" not in out.getvalue()
    assert sys.stderr is before
    assert heard == ["no worker is alive"]
    assert "the panel" in out.getvalue()
    assert out.getvalue().endswith("no worker is alive\nhalf a line\n")


def test_a_panel_is_for_terminals_that_can_move_their_cursor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert can_draw(Tty()) and not can_draw(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not can_draw(Tty())


@pytest.mark.parametrize(("display", "lines"), [("quiet", 0), ("plain", 1), ("auto", 1)])
def test_the_display_that_was_asked_for(display: Display, lines: int) -> None:
    out = io.StringIO()
    now = Board().progress(now=NOW, caps=Budget(evaluations=5), known=False)
    with progress_display(title="toy", minutes=None, display=display, stream=out) as show:
        show(now)
    assert out.getvalue().count("\n") == lines
