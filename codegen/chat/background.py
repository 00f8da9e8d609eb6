"""One event loop in one thread, on which any number of threads wait for their answers.

The loop is the process's, not the client's: litellm keeps its connections by loop, and would hand
those of a closed loop to a new one in its place. It stops when the process ends: a thread that is
torn out of an import would leave its lock to nobody, and the interpreter waiting for it.
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
_FAREWELL_S = 5.0
_START_LOCK = threading.Lock()
_LOOP: list[asyncio.AbstractEventLoop] = []


class Desk:
    """One client's work on the loop: it can be given up without touching that of others.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._waiting: set[Future[Any]] = set()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result, waited for in the calling thread.

        Raises WorldError when the desk is closed before it is there. Whatever else ends the
        waiting, such as KeyboardInterrupt, cancels the coroutine.
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
        """Wait in the calling thread. WorldError as soon as the desk is closed."""
        if self._closed.wait(seconds):
            raise WorldError(_CLOSED)

    def close(self) -> None:
        """Cancel what is in flight: whoever waits gets a WorldError. Idempotent."""
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
    """Run until stopped, then end every task in its own words."""
    asyncio.set_event_loop(loop)
    loop.run_forever()
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_default_executor())


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    thread.join(_FAREWELL_S)
