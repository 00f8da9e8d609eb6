"""One event loop in one thread, on which any number of threads wait for their answers.

All clients of a process share it: litellm keeps its connections by loop, and would reuse those of a
closed loop in the one that replaces it. It stops when the process ends: a thread that is killed
while it imports never releases the import lock, and the interpreter would wait for it forever.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from mcts.errors import WorldError

T = TypeVar("T")
_CLOSED = "the client of the language model was closed"
_JOIN_TIMEOUT_S = 5.0
_START_LOCK = threading.Lock()
_LOOP: list[asyncio.AbstractEventLoop] = []


class ClientTasks:
    """One client's coroutines on the loop, which can be cancelled without touching those of others.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._waiting: set[Future[Any]] = set()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Wait for the coroutine's result in the calling thread.

        Raises WorldError if the client is closed first. Whatever else ends the waiting, such as
        KeyboardInterrupt, cancels the coroutine.
        """
        future = self._submit(coroutine)
        try:
            return future.result()
        except CancelledError:
            raise WorldError(_CLOSED) from None
        finally:
            future.cancel()
            with self._lock:
                self._waiting.discard(future)

    def sleep(self, seconds: float) -> None:
        """Wait in the calling thread. Raises WorldError as soon as the client is closed."""
        if self._closed.wait(seconds):
            raise WorldError(_CLOSED)

    def close(self) -> None:
        """Cancel what is in flight: the threads that wait get a WorldError. Idempotent."""
        self._closed.set()
        with self._lock:
            waiting = list(self._waiting)
        for future in waiting:
            future.cancel()

    def _submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            if self._closed.is_set():
                coroutine.close()
                raise WorldError(_CLOSED)
            future = asyncio.run_coroutine_threadsafe(coroutine, _running_loop())
            self._waiting.add(future)
            return future


def _running_loop() -> asyncio.AbstractEventLoop:
    with _START_LOCK:
        if not _LOOP:
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=_serve, args=(loop,), name="rooftree-llm", daemon=True)
            thread.start()
            atexit.register(_stop, loop, thread)
            _LOOP.append(loop)
        return _LOOP[0]


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run until stopped, then cancel every task and let it finish."""
    asyncio.set_event_loop(loop)
    loop.run_forever()
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_default_executor())


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    thread.join(_JOIN_TIMEOUT_S)
