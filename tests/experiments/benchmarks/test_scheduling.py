"""Lines of a study with a model: what is taken, waits or is left out, and who stops whom."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from experiments.benchmarks.measurements.scheduling import Tally, missing_lines, taken
from experiments.benchmarks.measurements.session import Session
from mcts.errors import AnswerPending, InputError, WorldError
from mcts.options import JudgingOptions, ModelOptions


@dataclass(frozen=True)
class Unit:
    task_key: str
    number: int

    @property
    def key(self) -> str:
        return f"{self.task_key}{self.number}"


@dataclass(frozen=True)
class Line:
    key: str
    cost_usd: float | None = 1.0
    replies: int = 1


class Means:
    def __init__(self) -> None:
        self.others_wait, self.stops = True, 0
        self.tasks: list[str] = []

    def measure_on(self, task: str, judging: JudgingOptions) -> None:
        self.tasks.append(task)

    def stop(self) -> None:
        self.stops += 1


UNITS = [Unit(task, number) for number in range(3) for task in "ab"]
SESSION = Session(model=ModelOptions(), judging=JudgingOptions(), at_once=2)
take_all = partial(taken, at_once=4, name="unit")


def line_of(unit: Unit) -> Line:
    return Line(unit.key)


def all_lines(
    means: Means,
    tally: Tally,
    *,
    known: Sequence[Line] = (),
    cost_usd: float | None = None,
    shown: list[tuple[int, int]] | None = None,
) -> list[str]:
    def lines_of(units: Sequence[Unit]) -> Iterator[Line]:
        yield from take_all(units, line_of, tally, stop=means.stop)

    found: list[str] = []
    show = lambda *counts: None if shown is None else shown.append(counts)  # noqa: E731
    with closing(
        missing_lines(UNITS, known, lines_of, means, SESSION, tally, cost_usd=cost_usd, show=show)
    ) as lines:
        try:
            found.extend(line.key for line in lines)
        except (InputError, WorldError) as error:
            found.append(str(error))
    return found


def test_units_without_a_line_are_taken_task_by_task() -> None:
    means, tally, shown = Means(), Tally(), list[tuple[int, int]]()
    found = all_lines(means, tally, known=[Line("a0"), Line("other")], shown=shown)
    assert sorted(found[:3]) == ["b0", "b1", "b2"] and sorted(found[3:]) == ["a1", "a2"]
    assert means.tasks == ["b", "a"] and means.others_wait and not means.stops
    assert tally.done == 5 and shown == [(count, 6) for count in range(1, 7)]


def test_the_line_that_reaches_the_cap_is_given_before_the_study_ends() -> None:
    found = all_lines(Means(), Tally(), known=[Line("a0")], cost_usd=3.0)
    assert len(found) == 3 and found[-1] == "3.00 USD spent, the study's cap is 3"


def test_units_that_wait_are_counted_and_the_others_come() -> None:
    tally = Tally()

    def take(unit: Unit) -> Line | None:
        if unit.number == 1:
            raise AnswerPending("later")
        return line_of(unit) if unit.number else None

    found = list(take_all(UNITS, take, tally, stop=pytest.fail))
    assert sorted(line.key for line in found) == ["a2", "b2"] and tally.pending == 2


def test_what_one_raises_stops_those_under_way() -> None:
    told, began = threading.Event(), threading.Event()

    def take(unit: Unit) -> Line:
        if unit == UNITS[0]:
            assert began.wait(30)
            raise ValueError("it is lost")
        began.set()
        assert told.wait(30), "nobody stopped it"
        return line_of(unit)

    with pytest.raises(ValueError, match="it is lost"):
        list(take_all(UNITS[:3], take, Tally(), stop=told.set))


def test_whoever_leaves_early_stops_those_under_way() -> None:
    told = threading.Event()

    def take(unit: Unit) -> Line:
        assert unit == UNITS[0] or told.wait(30), "nobody stopped it"
        return line_of(unit)

    with closing(take_all(UNITS[:3], take, Tally(), stop=told.set)) as lines:
        assert next(lines).key == "a0"
    assert told.is_set()


def test_a_unit_left_out_is_news_once_for_its_task_and_reason() -> None:
    tally = Tally()
    news = [
        tally.leave_out(unit, why)
        for unit, why in ((UNITS[0], "x"), (UNITS[1], "x"), (UNITS[2], "x"), (UNITS[4], "y"))
    ]
    assert news == [True, True, False, True]
    assert tally.left_out == {"a0": "x", "b0": "x", "a1": "x", "a2": "y"}


def test_units_left_out_are_not_taken_again_when_an_answer_comes(tmp_path: Path) -> None:
    queue, tally, means = tmp_path / "queue", Tally(), Means()
    queue.mkdir()
    asked: list[str] = []

    def take(unit: Unit) -> Line | None:
        asked.append(unit.key)
        if unit.number == 0:
            tally.leave_out(unit, "it cannot be judged")
            return None
        if unit.number == 1 and asked.count(unit.key) == 1:
            raise AnswerPending("later")
        return line_of(unit)

    def lines_of(units: Sequence[Unit]) -> Iterator[Line]:
        yield from take_all(units, take, tally, stop=means.stop)
        (queue / f"{units[0].key}-{len(asked)}.reply.md").write_text("an answer")

    session = Session(
        model=ModelOptions(queue=queue, timeout_s=10), judging=JudgingOptions(), at_once=2
    )
    found = missing_lines(
        UNITS, (), lines_of, means, session, tally, cost_usd=None, show=lambda *_: None
    )
    assert sorted(line.key for line in found) == ["a1", "a2", "b1", "b2"]
    assert sorted(asked) == ["a0", "a1", "a1", "a2", "b0", "b1", "b1", "b2"]
