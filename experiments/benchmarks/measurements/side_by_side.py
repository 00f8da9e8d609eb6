"""Tasks side by side, each on a GPU of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TypeVar

Task = TypeVar("Task")
Gpu = TypeVar("Gpu")
Line = TypeVar("Line")


def side_by_side(
    tasks: Sequence[Task],
    gpus: Sequence[Gpu],
    lines_of: Callable[[Task, Gpu], Iterator[Line]],
    *,
    stop: Callable[[], None],
) -> Generator[Line, None, None]:
    """The lines of all tasks as they come; each of `gpus` takes one task after the other.

    What `lines_of` raises for one task ends them all, and is raised here once they have ended.
    `stop` has those that wait for an answer or a measurement give up.
    """
    if len(gpus) == 1:
        for task in tasks:
            yield from lines_of(task, gpus[0])
        return
    todo = iter(tasks)
    taking, stopping = threading.Lock(), threading.Event()
    found: queue.SimpleQueue[tuple[Line] | BaseException | None] = queue.SimpleQueue()

    def taken() -> Iterator[Task]:
        while not stopping.is_set():
            with taking:
                try:
                    task = next(todo)
                except StopIteration:
                    return
            yield task

    def work(gpu: Gpu) -> None:
        try:
            for task in taken():
                for line in lines_of(task, gpu):
                    found.put((line,))
        except BaseException as error:  # noqa: BLE001 - raised by whoever reads the lines
            found.put(error)
        finally:
            found.put(None)

    threads = [threading.Thread(target=work, args=(gpu,), name="rooftree-gpu") for gpu in gpus]
    for thread in threads:
        thread.start()
    failure: BaseException | None = None
    working = len(threads)
    try:
        while working:
            got = found.get()
            if got is None:
                working -= 1
            elif isinstance(got, BaseException):
                if failure is None:
                    failure = got
                    stopping.set()
                    stop()
            else:
                yield got[0]
    finally:
        if working:
            stopping.set()
            stop()
        for thread in threads:
            thread.join()
    if failure is not None:
        raise failure
