"""The process that imports torch once and forks; each fork becomes a worker of one candidate.

Run as ``python -m profilers.kernelbench.worker.nursery``. It never touches CUDA: that would not
survive a fork.
"""

from __future__ import annotations

import contextlib
import importlib

from profilers.children.serving import Handler
from profilers.children.tending import ForkContext, tend
from profilers.kernelbench.worker.process import Worker

_SLABS_TIMEOUT_S = 30.0


def make_handlers(context: ForkContext) -> dict[str, Handler]:
    """What a fork answers to."""

    def receive(count: int) -> list[int]:
        return context.descriptors.receive(count, timeout_s=_SLABS_TIMEOUT_S)

    return Worker(receive).handlers()


def main() -> None:
    importlib.import_module("torch")
    with contextlib.suppress(ImportError):
        importlib.import_module("triton")
    tend(make_handlers)


if __name__ == "__main__":
    main()
