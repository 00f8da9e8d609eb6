"""Where each trial is and where the time went, as a person sees it."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from experiments.live import Panel, PlainLines
from experiments.live.board import Board
from experiments.live.flights import Flights, counted, flight_words
from experiments.live.plain import SILENCE_S, spoken
from experiments.live.tree_rows import rows
from experiments.live.watching import watch
from experiments.runs.folders.journal import SqliteJournal, read_events
from experiments.text.quantities import clock
from experiments.text.stages import shares, shares_text, time_text
from experiments.views.report.page import report_html
from mcts.domain import Candidate, Evaluation
from mcts.journal.record import Result, read_result
from mcts.journal.summary import Provenance
from mcts.loop.budget import Budget
from mcts.ports import Event, StageObserver
from tests.experiments.conftest import ListJournal, ModelEvaluator, make_optimizer, make_task

Run = tuple[ListJournal, Result]
NOW = 1000.0
RUN = Provenance(task="toy", evaluator="model", proposer="one step", hardware="Paper GPU", seed=0)
STAGES = ("waiting", "compiling", "verifying", "timing", "metering", "profiling")


def event(kind: str, /, **payload: Any) -> Event:
    return Event(0, kind, payload)


def asked(trial: int, kind: str = "improve") -> Event:
    return event("asked", trial=trial, parent=0, seed=1, kind=kind, ordinal=0)


def stage(candidate_id: str, stage: str, **place: Any) -> Event:
    return event("stage", candidate_id=candidate_id, stage=stage, **place)


def flights_of(*events: Event, every_s: float = 1.0) -> Flights:
    flights = Flights()
    for at, entry in enumerate(events):
        flights.take(entry, NOW + at * every_s)
    return flights


# What each trial is at.


def test_a_trial_is_told_by_what_its_evaluator_says() -> None:
    flights, seen = Flights(), []
    for at, entry in enumerate(
        [
            asked(3),
            event("proposing", trial=3),
            event("proposed", trial=3),
            event("measuring", trial=3, candidate_id="c"),
            *(stage("c", name, trial=3) for name in STAGES[:4]),
            event("measured", trial=3),
        ]
    ):
        flights.take(entry, NOW + at)
        seen.append(flights.out[0].doing)
    assert seen == [
        "about to propose", "proposing", "to be measured", "being measured",
        "waiting for the GPU", "compiling", "verifying", "timing", "done, waits for its turn",
    ]  # fmt: skip
    assert flight_words(flights.out[0], NOW + 10) == (
        "#3 done, waits for its turn 2 s, 10 s in all (from #0)"
    )


def test_a_trial_without_stages_is_shown_as_being_measured() -> None:
    flights = flights_of(asked(1), event("measuring", trial=1, candidate_id="c"))
    assert [flight.doing for flight in flights.out] == ["being measured"]


def test_a_branch_says_which_it_is_and_counts_with_its_stage() -> None:
    flights = flights_of(
        asked(7),
        event("measuring", trial=7, candidate_id="a"),
        event("measured", trial=7),
        event("measuring", trial=7, candidate_id="b"),
        stage("b", "timing", trial=7),
    )
    assert flights.out[0].doing == "branch 2 timing"
    assert counted(flights.out) == "1 timing"


def test_a_parent_that_is_profiled_is_the_work_of_the_trial_that_needs_it() -> None:
    before = [asked(4), event("profiling", candidate_id="p"), stage("p", "compiling")]
    flights = flights_of(*before)
    (flight,) = flights.out
    assert (flight.trial, flight.doing) == (4, "profiling its parent: compiling")
    flights = flights_of(*before, stage("p", "profiling"))
    assert flights.out[0].doing == "profiling its parent"
    flights = flights_of(*before, event("profiled", candidate_id="p"))
    assert [flight.doing for flight in flights.out] == ["about to propose"]


def test_a_profile_that_no_trial_needs_belongs_to_none() -> None:
    flights = flights_of(
        asked(4), event("proposing", trial=4), event("profiling", candidate_id="p")
    )
    assert [(f.trial, f.doing) for f in flights.out] == [(4, "proposing"), (None, "profiling")]


def test_the_baseline_is_shown_by_its_stages() -> None:
    begun = [event("measuring", trial=0, candidate_id="b"), stage("b", "timing", trial=0)]
    assert [flight.doing for flight in flights_of(*begun[:1]).out] == ["measuring the baseline"]
    flights = flights_of(*begun)
    assert [f.doing for f in flights.out] == ["measuring the baseline: timing"]
    assert flights.trials == 0
    assert flights_of(*begun, event("measured", trial=0, candidate_id="b")).out == []


def test_a_variant_that_weighs_a_method_is_told_by_its_stages() -> None:
    begun = [event("measuring", trial=None, candidate_id="v"), stage("v", "timing", trial=None)]
    assert [f.doing for f in flights_of(*begun).out] == ["weighing a method: timing"]
    assert flights_of(*begun, event("measured", trial=None, candidate_id="v")).out == []


def test_a_finalist_is_told_by_its_stages_too() -> None:
    flights = flights_of(event("confirming", candidate_id="c"), stage("c", "verifying"))
    assert [flight.doing for flight in flights.out] == ["measuring a finalist again: verifying"]


def test_a_resume_restarts_the_clock_of_open_work() -> None:
    flights = flights_of(asked(1), event("proposing", trial=1), event("resumed"), every_s=500)
    (flight,) = flights.out
    assert flight_words(flight, NOW + 1003) == "#1 proposing 3 s (from #0)"


def test_an_unknown_stage_is_shown_as_text() -> None:
    flights = flights_of(asked(1), stage("c", "\x1b[2Jcooling\u202e", trial=1))
    assert "\x1b" not in flights.out[0].doing and "\u202e" not in flights.out[0].doing
    assert "cooling" in flights.out[0].doing


# The panel with many of them.


def crowd(finished: Run, count: int) -> Board:
    """A run in which so many trials are at all kinds of stages."""
    board = Board()
    for entry in finished[0].events():
        if entry.kind == "asked" and entry.payload["trial"] == 9:
            break
        board.take(entry, NOW - 60)
    for number in range(count):
        trial = 9 + number
        board.take(asked(trial), NOW - 40 + number / 10)
        if number % 3 == 0:
            board.take(event("proposing", trial=trial), NOW - 30)
        else:
            board.take(event("measuring", trial=trial, candidate_id=str(trial)), NOW - 20)
            name = STAGES[number % 5]
            board.take(stage(str(trial), name, trial=trial), NOW - number % 17)
    return board


def shown(board: Board, width: int, height: int) -> list[str]:
    panel = Panel(title="toy", minutes=None, board=board, clock=lambda: 0.0, now=lambda: NOW)
    panel.take(board.progress(now=NOW, caps=Budget(evaluations=500), known=False))
    out = io.StringIO()
    Console(file=out, width=width, height=height).print(panel.render(width=width, height=height))
    return out.getvalue().splitlines()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (40, 10), (30, 8), (200, 60)])
@pytest.mark.parametrize("count", [1, 4, 5, 9, 64])
def test_many_trials_fit_every_terminal(finished: Run, width: int, height: int, count: int) -> None:
    lines = shown(crowd(finished, count), width, height)
    assert len(lines) <= height and all(cell_len(line) <= width for line in lines)
    assert any("best" in line for line in lines) and any("now" in line for line in lines)


def test_many_trials_are_summed_up_and_some_are_shown(finished: Run) -> None:
    board = crowd(finished, 64)
    text = "\n".join(shown(board, 120, 40))
    assert counted(board.flights) in text
    for part in ("#9 proposing 30 s, 40 s in all (from #0)", "and 57 more", "64 in flight"):
        assert part in text
    few = "\n".join(shown(board, 80, 24))
    assert "#9 proposing" in few and "and 61 more" in few


def test_as_many_trials_as_there_are_rows_are_shown_without_a_sum(finished: Run) -> None:
    text = "\n".join(shown(crowd(finished, 4), 100, 30))
    assert all(f"#{trial} " in text for trial in (9, 10, 11, 12)) and "more" not in text


def test_the_tree_says_what_is_done_where(finished: Run) -> None:
    board = crowd(finished, 2)
    flying = {row.head: row.words for row in rows(board, 20) if row.style == "flight"}
    assert flying == {"#9": "proposing", "#10": "compiling"}


# Plain lines.


def test_after_a_silence_a_plain_line_says_what_is_under_way(finished: Run) -> None:
    out, hands = io.StringIO(), [0.0]
    lines = PlainLines(out, clock=lambda: hands[0], now=lambda: NOW)
    board = crowd(finished, 3)
    lines(board.progress(now=NOW, caps=Budget(evaluations=50), known=False))
    said = out.getvalue()
    hands[0] = SILENCE_S - 1
    lines.under_way(board.flights)
    assert out.getvalue() == said
    hands[0] = SILENCE_S
    for _ in range(3):
        lines.under_way(board.flights)
    told = out.getvalue().removeprefix(said)
    assert told.count("\n") == 1
    assert f"under way: {counted(board.flights)}; longest #9 proposing 30 s" in told
    assert told.startswith("     8/50  best ")
    hands[0] = 2 * SILENCE_S
    lines.under_way([])
    assert out.getvalue() == said + told


def test_a_silent_search_is_looked_at_by_itself(finished: Run) -> None:
    out, board, told = io.StringIO(), crowd(finished, 2), threading.Event()
    hands = iter([0.0, 0.0])
    lines = PlainLines(out, clock=lambda: next(hands, SILENCE_S + 1), now=lambda: NOW)
    lines(board.progress(now=NOW, caps=None, known=True))

    def follow() -> None:
        told.set()

    with spoken(lines, board, follow):
        assert told.wait(30)
    assert "under way: 1 proposing, 1 compiling; longest #9" in out.getvalue()


# Where the time went.


def test_shares_are_of_all_trials_and_the_greatest_comes_first() -> None:
    stages = {"timing": 30.0, "proposing": 60.0, "compiling": 0.1, "judging": 0.0}
    assert [name for name, _ in shares(stages)] == ["proposing", "timing", "compiling"]
    assert sum(share for _, share in shares(stages)) == pytest.approx(1)
    assert shares_text(stages) == "67 % proposing, 33 % timing, under 1 % compiling"
    assert time_text(stages, 92.0).endswith(f"(of the {clock(90.1)} of all trials)")
    assert time_text(stages, 100.1).endswith("of all trials; 10 s more between trials)")
    assert "between" not in time_text(stages, 45.0)


@pytest.mark.parametrize("stages", [{}, {"judging": 99.0}, {"timing": 0.4, "compiling": 0.3}])
def test_shares_that_tell_nothing_are_left_out(stages: dict[str, float]) -> None:
    assert time_text(stages, 50.0) == "" and shares(stages) == []


# A whole run, through its journal on disk.


class TellingEvaluator(ModelEvaluator):
    """Tells its stages, which take their seconds by the clock of `tick`."""

    def __init__(self, tick: list[float]) -> None:
        super().__init__(make_task())
        self.tick = tick
        self.tell: StageObserver = lambda _candidate_id, _stage: None

    def tell_stages(self, observer: StageObserver) -> None:
        self.tell = observer

    def evaluate(self, candidate: Candidate) -> Evaluation:
        self.tell(candidate.id, "compiling")
        self.tick[0] += 1.0
        self.tell(candidate.id, "timing")
        self.tick[0] += 3.0
        return super().evaluate(candidate)


@pytest.fixture(scope="module")
def telling(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, tick = tmp_path_factory.mktemp("telling"), [0.0]
    evaluator = TellingEvaluator(tick)
    with SqliteJournal(folder / "run.sqlite") as journal:
        optimizer = make_optimizer(journal, evaluations=8, evaluator=evaluator)
        optimizer.bench._stages._clock = lambda: tick[0]
        optimizer.run()
    return folder


def test_the_journal_on_disk_holds_stages_and_their_sums(telling: Path) -> None:
    events = read_events(telling)
    kinds = [event.kind for event in events]
    assert kinds.count("stage") == 2 * kinds.count("measuring")
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    stages = read_result(events).stages
    assert stages["timing"] == 3 * stages["compiling"] == 3.0 * kinds.count("measuring")


def test_a_jotted_event_costs_no_wait_for_the_disk_and_the_next_counts_again(
    tmp_path: Path,
) -> None:
    with SqliteJournal(tmp_path / "run.sqlite") as journal:
        levels = []
        for write in (journal.append, journal.jot, journal.jot, journal.append):
            write("stage", {"stage": "timing"})
            levels.append(journal._connection.execute("PRAGMA synchronous").fetchone()[0])
    full, normal = 2, 1
    assert levels == [full, normal, normal, full]
    assert len(read_events(tmp_path)) == 4


def test_a_watcher_says_where_the_time_went_at_the_end(telling: Path) -> None:
    from experiments.cli.commands.watch import ending_words

    board = watch(telling, stream=io.StringIO(), plain=True)
    words = "\n".join(ending_words(board, telling))
    assert "time went to: 75 % timing, 25 % compiling (of the" in words


def test_the_report_shows_where_the_time_went(telling: Path) -> None:
    result = read_result(read_events(telling))
    page = report_html(run=RUN, result=result, svg=None, run_dir=telling)
    assert "Where the time went" in page
    assert '<rect class="stage-timing" x="0.00%" width="75.00%"' in page
    assert '<rect class="stage-compiling" x="75.00%" width="25.00%"' in page
    table = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert [row["stage"] for row in table["times"]] == ["timing", "compiling"]


def test_a_stage_with_a_hostile_name_is_text_in_the_report(telling: Path) -> None:
    hostile = '"><script>alert(1)</script>'
    events = [
        Event(e.seq, e.kind, {**e.payload, "stages": {hostile: 5.0, "timing": 5.0}})
        if e.kind == "measured"
        else e
        for e in read_events(telling)
    ]
    page = report_html(run=RUN, result=read_result(events), svg=None)
    assert "<script>alert" not in page and 'class="stage-other"' in page


def test_a_report_of_a_run_without_stages_does_not_speak_of_them(finished: Run) -> None:
    assert "Where the time went" not in report_html(run=RUN, result=finished[1], svg=None)
