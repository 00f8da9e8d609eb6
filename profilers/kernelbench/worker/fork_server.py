"""The process that imports torch once and forks; each fork becomes a worker of one candidate.

Run as ``python -m profilers.kernelbench.worker.fork_server``. It never initialises CUDA, which
would not survive a fork.
"""

from __future__ import annotations

import contextlib
import importlib

from profilers.children.forking import ForkContext, serve_forks
from profilers.children.serving import Handler
from profilers.kernelbench.worker.process import WorkerHandlers

_BUFFERS_TIMEOUT_S = 30.0


def make_handlers(context: ForkContext) -> dict[str, Handler]:
    """The requests that a fork answers."""

    def receive(count: int) -> list[int]:
        return context.descriptors.receive(count, timeout_s=_BUFFERS_TIMEOUT_S)

    return WorkerHandlers(receive).handlers()


def main() -> None:
    importlib.import_module("torch")
    with contextlib.suppress(ImportError):
        importlib.import_module("triton")
    serve_forks(make_handlers)


if __name__ == "__main__":
    main()
