"""What a trial is at: told by the evaluator, timed, jotted down, and summed from the journal."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from mcts.domain import Candidate, Evaluation, Profile
from mcts.domain.objective import Ranking
from mcts.errors import JournalError, ProposalRejected, WorldError
from mcts.journal.reading import EventReader
from mcts.journal.record import Result, read_result
from mcts.journal.runlog import RunLog
from mcts.journal.stages import StageClock
from mcts.loop.bench import Bench
from mcts.ports import Event, Proposal, ProposalRequest, StageObserver
from mcts.testing.toy import Killed, MemoryJournal, ToyEvaluator, ToyProposer, toy_task
from tests.mcts.journal.paid import optimizer


class Hands:
    """A clock that stands until it is turned on."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


class TellingEvaluator(ToyEvaluator):
    """Tells its stages, and confirms finalists."""

    can_confirm = True

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.tell: StageObserver = lambda _candidate_id, _stage: None

    def tell_stages(self, observer: StageObserver) -> None:
        self.tell = observer

    def evaluate(self, candidate: Candidate) -> Evaluation:
        self.tell(candidate.id, "compiling")
        self.tell(candidate.id, "verifying")
        self.tell(candidate.id, "verifying")
        self.tell("a candidate that nobody asked for", "timing")
        self.tell(candidate.id, "timing")
        return super().evaluate(candidate)

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        self.tell(candidate.id, "profiling")
        return super().profile(candidate, evaluation)


class JottingJournal(MemoryJournal):
    """Keeps what is jotted down among the events."""

    def jot(self, kind: str, payload: Mapping[str, Any]) -> None:
        self.append(kind, payload)


class FullJournal(MemoryJournal):
    def jot(self, kind: str, payload: Mapping[str, Any]) -> None:
        raise JournalError("the disk is full")


def run(
    journal: MemoryJournal,
    *,
    proposer: ToyProposer | None = None,
    evaluator: ToyEvaluator | None = None,
) -> Result:
    proposer, evaluator = proposer or ToyProposer(), evaluator or TellingEvaluator()
    return optimizer(journal, proposer, evaluator, evaluations=6, seed=3).run()


def test_a_clock_charges_each_stage_what_passed_in_it() -> None:
    hands = Hands()
    clock = StageClock(clock=hands)
    hands.at = 0.25
    assert clock.enter("compiling")
    hands.at = 1.0
    assert clock.enter("verifying") and not clock.enter("verifying")
    hands.at = 1.0004
    assert clock.enter("timing")
    hands.at = 3.0
    assert clock.enter("compiling")
    hands.at = 3.5
    assert clock.seconds() == {"judging": 0.25, "compiling": 1.25, "timing": 2.0}
    assert clock.seconds() == {"judging": 0.25, "compiling": 1.25, "timing": 2.0}


def test_stages_are_jotted_down_in_order_with_the_trial_that_they_are_of() -> None:
    journal = JottingJournal()
    run(journal)
    events = [event for event in journal.events() if event.kind in ("stage", "measuring")]
    measured = [at for at, event in enumerate(events) if event.kind == "measuring"]
    assert len(measured) == 7
    for at in measured:
        place = events[at].payload
        told = [event.payload for event in events[at + 1 : at + 4]]
        assert told == [{**place, "stage": s} for s in ("compiling", "verifying", "timing")]


def test_stages_of_finalists_and_profiles_name_no_trial() -> None:
    journal = JottingJournal()
    run(journal)
    last: dict[str, str] = {}
    for event in journal.events():
        if event.kind in ("profiling", "confirming"):
            last[event.payload["candidate_id"]] = event.kind
        if event.kind == "stage" and "trial" not in event.payload:
            begun = last[event.payload["candidate_id"]]
            assert (event.payload["stage"] == "profiling") == (begun == "profiling")
    assert set(last.values()) == {"profiling", "confirming"}


def test_a_journal_that_takes_no_notes_gets_none_and_the_tree_is_the_same() -> None:
    plain, noted = MemoryJournal(), JottingJournal()
    mute = run(JottingJournal(), evaluator=ToyEvaluator())
    results = (mute, run(plain), run(noted), run(FullJournal()))
    assert len({result.tree_digest for result in results}) == 1
    assert not any(event.kind == "stage" for event in plain.events())
    assert [e.kind for e in noted.events() if e.kind != "stage"] == [e.kind for e in plain.events()]


@pytest.mark.parametrize("kill_after", range(0, 60, 7))
def test_a_run_killed_at_any_stage_goes_on_to_the_same_tree(kill_after: int) -> None:
    whole = run(JottingJournal()).tree_digest
    killed = JottingJournal(kill_after=kill_after)
    with pytest.raises(Killed):
        run(killed)
    resumed = JottingJournal(tuple(killed.events()))
    assert run(resumed).tree_digest == whole == read_result(resumed.events()).tree_digest


def bench_of(journal: MemoryJournal, evaluator: ToyEvaluator, hands: Hands) -> Bench:
    bench = Bench(evaluator, log=RunLog(journal), ranking=Ranking())
    bench._stages._clock = hands
    return bench


class SlowEvaluator(TellingEvaluator):
    """Each stage takes its seconds by `hands`."""

    def __init__(self, hands: Hands, **more: Any) -> None:
        super().__init__(**more)
        self.hands = hands

    def evaluate(self, candidate: Candidate) -> Evaluation:
        for stage, seconds in (("compiling", 1.5), ("waiting", 2.0), ("timing", 4.0)):
            self.tell(candidate.id, stage)  # type: ignore[arg-type]
            self.hands.at += seconds
        return ToyEvaluator.evaluate(self, candidate)


def test_a_measurement_keeps_the_seconds_of_its_stages() -> None:
    hands, journal = Hands(), MemoryJournal()
    bench = bench_of(journal, SlowEvaluator(hands), hands)
    task = toy_task()
    evaluation = bench.evaluate(1, task.baseline)
    bench.confirm(task.baseline, evaluation)
    stages = {"compiling": 1.5, "waiting": 2.0, "timing": 4.0}
    kept = [event.payload["stages"] for event in journal.events() if "stages" in event.payload]
    assert kept == [stages, stages]
    reader = EventReader()
    for event in journal.events():
        reader.take(event)
    assert dict(reader.stages) == {**stages, "confirming": 7.5}


def test_a_measurement_broken_by_the_world_keeps_its_stages() -> None:
    hands, journal = Hands(), MemoryJournal()
    bench = bench_of(journal, SlowEvaluator(hands, fail_world_at=frozenset({1})), hands)
    with pytest.raises(WorldError):
        bench.evaluate(1, toy_task().baseline)
    (broken,) = [event.payload for event in journal.events() if event.kind == "broken"]
    assert broken["stages"] == {"compiling": 1.5, "waiting": 2.0, "timing": 4.0}


def test_an_evaluator_that_tells_nothing_is_judging() -> None:
    hands, journal = Hands(), JottingJournal()

    class Mute(ToyEvaluator):
        def evaluate(self, candidate: Candidate) -> Evaluation:
            hands.at += 3.0
            return super().evaluate(candidate)

    bench_of(journal, Mute(), hands).evaluate(None, toy_task().baseline)
    (measured,) = [event for event in journal.events() if event.kind == "measured"]
    assert measured.payload["stages"] == {"judging": 3.0}
    assert not any(event.kind == "stage" for event in journal.events())


def test_candidates_that_are_judged_at_once_keep_their_stages_apart() -> None:
    """Two threads meet inside, each at a stage of its own."""
    meet = threading.Barrier(2)
    journal = JottingJournal()

    class Meeting(TellingEvaluator):
        def evaluate(self, candidate: Candidate) -> Evaluation:
            self.tell(candidate.id, "compiling" if candidate.tunables["TILE"] == 1 else "timing")
            meet.wait(30)
            return ToyEvaluator.evaluate(self, candidate)

    bench = Bench(Meeting(), log=RunLog(journal), ranking=Ranking())
    first = toy_task().baseline
    second = first.model_copy(update={"tunables": {**first.tunables, "TILE": 2}})
    threads = [
        threading.Thread(target=bench.evaluate, args=(at, candidate))
        for at, candidate in ((1, first), (2, second))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = {e.payload["trial"]: e.payload["stage"] for e in journal.events() if e.kind == "stage"}
    assert told == {1: "compiling", 2: "timing"}


class SlowProposer(ToyProposer):
    """Asks somebody: its first reply is of no use, and the second does not come."""

    def __init__(self) -> None:
        super().__init__(inline=False)
        self.asked = 0

    def propose(self, request: ProposalRequest) -> Proposal:
        self.asked += 1
        if self.asked == 1:
            raise ProposalRejected("no code in it")
        if self.asked == 2:
            raise WorldError("the model is away")
        return super().propose(request)


def test_proposing_is_timed_whatever_comes_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(10_000))
    hands = SimpleNamespace(monotonic=lambda: float(next(ticks)))
    monkeypatch.setattr("mcts.loop.world.time", hands)
    journal = MemoryJournal()
    result = run(journal, proposer=SlowProposer())
    kinds = ("rejected", "abandoned", "proposed")
    took = {
        (event.kind, event.payload["trial"]): event.payload.get("seconds")
        for event in journal.events()
        if event.kind in kinds
    }
    assert took["proposed", 0] is None, "the baseline is proposed by nobody"
    assert all(seconds for key, seconds in took.items() if key != ("proposed", 0))
    assert {kind for kind, _ in took} == set(kinds)
    assert result.stages["proposing"] == sum(seconds or 0 for seconds in took.values())
    again = run(MemoryJournal(tuple(journal.events())), proposer=SlowProposer())
    assert again.stages["proposing"] == result.stages["proposing"]


def test_a_proposer_that_answers_at_once_is_timed_too() -> None:
    journal = MemoryJournal()
    run(journal)
    proposed = [e.payload for e in journal.events() if e.kind == "proposed" and e.payload["trial"]]
    assert proposed
    assert all(payload["seconds"] >= 0 for payload in proposed)


def test_a_journal_of_before_says_only_that_it_was_judged() -> None:
    journal = MemoryJournal()
    run(journal)
    reader = EventReader()
    for event in journal.events():
        old = {name: value for name, value in event.payload.items() if name != "stages"}
        seconds = {"seconds": 2.0} if event.kind == "measured" else {"seconds": 0.0}
        reader.take(Event(event.seq, event.kind, {**old, **seconds}))
    assert dict(reader.stages) == {"judging": 14.0}


@pytest.mark.parametrize("stages", ["much", [1], {"timing": "long"}])
def test_damaged_stages_are_named_as_damage(stages: object) -> None:
    journal = MemoryJournal()
    run(journal)
    events = [
        Event(event.seq, event.kind, {**event.payload, "stages": stages})
        if event.kind == "measured"
        else event
        for event in journal.events()
    ]
    with pytest.raises(JournalError, match="damaged"):
        read_result(events)
