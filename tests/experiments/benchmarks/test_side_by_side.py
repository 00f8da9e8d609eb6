"""Tasks of studies side by side on several GPUs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import pairwise, product

import pytest

from experiments.benchmarks.measurements.side_by_side import side_by_side
from mcts.options import JudgingOptions

ONE = [JudgingOptions(device=3)]
TWO = [JudgingOptions(device=0), JudgingOptions(device=1)]


@pytest.mark.parametrize("gpus", [ONE, TWO])
def test_every_task_gives_its_lines_in_order_on_one_gpu(gpus: list[JudgingOptions]) -> None:
    def lines(task: int, gpu: JudgingOptions) -> Iterator[tuple[int, int, int]]:
        for number in range(3):
            yield task, number, gpu.device

    found = list(side_by_side(range(20), gpus, lines, stop=pytest.fail))
    assert sorted(line[:2] for line in found) == list(product(range(20), range(3)))
    for task in range(20):
        of_task = [line for line in found if line[0] == task]
        assert len({device for *_, device in of_task}) == 1
        assert all(first < second for first, second in pairwise(of_task))


def test_gpus_work_at_the_same_time() -> None:
    both = threading.Barrier(2)

    def lines(task: int, gpu: JudgingOptions) -> Iterator[int]:
        both.wait(30)
        yield gpu.device

    assert sorted(side_by_side(range(2), TWO, lines, stop=pytest.fail)) == [0, 1]


def test_what_a_task_raises_ends_the_others_and_is_raised() -> None:
    told = threading.Event()

    def lines(task: int, gpu: JudgingOptions) -> Iterator[int]:
        yield task
        if task == 0:
            raise ValueError("the first is lost")
        assert told.wait(30), "nobody stopped it"

    found = []
    with pytest.raises(ValueError, match="the first is lost"):
        found.extend(side_by_side(range(50), TWO, lines, stop=told.set))
    assert told.is_set()


def test_who_stops_reading_stops_the_tasks() -> None:
    told = threading.Event()

    def lines(task: int, gpu: JudgingOptions) -> Iterator[int]:
        yield task
        assert told.wait(30), "nobody stopped it"

    reading = side_by_side(range(50), TWO, lines, stop=told.set)
    assert next(reading) in (0, 1)
    reading.close()
    assert told.is_set()
    assert not [thread for thread in threading.enumerate() if thread.name == "rooftree-gpu"]
