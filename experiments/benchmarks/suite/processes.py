"""Problems of a suite side by side: a process for each GPU, which takes one after the other."""

from __future__ import annotations

import contextlib
import io
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TextIO

from experiments.app.interrupting import signals_interrupt
from experiments.app.messages import say
from experiments.benchmarks.suite.attempting import Attempt, attempt, failed
from experiments.benchmarks.suite.folder import Chosen, SuiteFolder
from experiments.benchmarks.suite.searching import LEAVING_S
from experiments.runs.options.request import RunRequest
from mcts.errors import WorldError


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem that is to be searched, with its file; `place` is what it is called in messages."""

    place: str
    chosen: Chosen
    path: Path


class SearchProcess:
    """A process that searches problems with the options of `request`; `name` precedes its lines.

    It ends when this process does, however that ends, and whatever it searches then can be resumed.
    """

    def __init__(
        self, name: str, folder: SuiteFolder, request: RunRequest, *, compare: bool
    ) -> None:
        self.name = name
        self._folder, self._request, self._compare = folder, request, compare
        self.problem: Problem | None = None
        self._start()

    def give(self, problem: Problem) -> None:
        """Have it search a problem; it must not have one."""
        self.problem = problem
        self.pipe.send(problem)

    def take(self) -> Attempt:
        """What came of the problem, once `pipe` is ready. A process that was lost is begun anew."""
        assert self.problem is not None, "only a process with a problem is waited for"
        chosen, self.problem = self.problem.chosen, None
        try:
            found: Attempt = self.pipe.recv()
        except EOFError:
            self._process.join(LEAVING_S)
            code = self._process.exitcode
            self.pipe.close()
            self._start()
            lost = WorldError(f"the search's process on {self.name} ended with exit code {code}")
            return failed(self._folder, chosen, lost)
        return found

    def leave(self) -> None:
        """Tell it to end."""
        self.pipe.close()

    def join(self) -> None:
        """Wait for its end."""
        self._process.join(LEAVING_S)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()

    def _start(self) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_search_problems,
            args=(theirs, self.name, self._folder.path, self._request, self._compare),
        )
        self._process.start()
        theirs.close()


class SearchProcesses:
    """A process for each of `requests`, which are named. A context manager that ends them."""

    def __init__(
        self, folder: SuiteFolder, requests: Mapping[str, RunRequest], *, compare: bool
    ) -> None:
        self._processes = [
            SearchProcess(name, folder, request, compare=compare)
            for name, request in requests.items()
        ]

    def __enter__(self) -> SearchProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        if any(process.problem is not None for process in self._processes):
            say("waiting for the searches to stop")
        for process in self._processes:
            process.leave()
        for process in self._processes:
            process.join()

    def run(self, problems: Iterable[Problem]) -> Iterable[tuple[Problem, Attempt]]:
        """What came of each problem, as they come; the next is begun when a process is free."""
        todo = iter(problems)
        for process in self._processes:
            self._begin_next(process, todo)
        while busy := {each.pipe: each for each in self._processes if each.problem is not None}:
            for ready in wait(list(busy)):
                process = busy[ready]  # type: ignore[index]
                problem = process.problem
                assert problem is not None, "busy processes have one"
                yield problem, process.take()
                self._begin_next(process, todo)

    def _begin_next(self, process: SearchProcess, todo: Iterable[Problem]) -> None:
        for problem in todo:
            say(f"{problem.place} on {process.name}")
            process.give(problem)
            return


def _search_problems(
    pipe: Connection, name: str, folder: Path, request: RunRequest, compare: bool
) -> None:
    """The other process: problems in, attempts out, until the pipe ends."""
    os.setpgrp()  # a terminal's Ctrl-C is for the process that is on the pipe's other end
    sys.stderr = _Named(sys.stderr, name)
    todo: queue.SimpleQueue[Problem | None] = queue.SimpleQueue()
    state = SearchState()

    def listen() -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                todo.put(pipe.recv())
        todo.put(None)
        state.leave()

    threading.Thread(target=listen, name="listening", daemon=True).start()
    try:
        with signals_interrupt():
            while (problem := todo.get()) is not None:
                if not state.begin():
                    break
                found = attempt(
                    SuiteFolder(folder), problem.chosen, problem.path, request,
                    compare=compare, say=say,
                )  # fmt: skip
                state.end()
                pipe.send(found)
    except (KeyboardInterrupt, OSError):
        sys.stderr.flush()
        os._exit(1)  # a thread that waits for a model's answer would delay it


class SearchState:
    """Whether a search is under way, which alone is interrupted when the suite leaves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_searching = self._is_left = False

    def begin(self) -> bool:
        """A search is about to begin; False if none may, because the suite has left."""
        with self._lock:
            self._is_searching = not self._is_left
            return self._is_searching

    def end(self) -> None:
        """The search has ended: from here on nothing interrupts the process."""
        with self._lock:
            self._is_searching = False

    def leave(self) -> None:
        """The suite has left: interrupt the main thread if it searches, and let none begin."""
        with self._lock:
            self._is_left = True
            if self._is_searching:
                os.kill(os.getpid(), signal.SIGINT)


class _Named(io.TextIOBase):
    """Writes lines to another stream, each after a name."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream, self._name = stream, name
        self._lock, self._line = threading.Lock(), ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stream.fileno()

    def write(self, text: str) -> int:
        with self._lock:
            *lines, self._line = (self._line + text).split("\n")
            if lines:
                self._stream.write("".join(f"{self._name}: {line}\n" for line in lines))
                self._stream.flush()
        return len(text)
