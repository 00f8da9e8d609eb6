"""The judge's side of a GPU worker, which is replaced whenever a candidate ruins it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mcts.domain import Isolation
from mcts.errors import WorldError
from profilers.children.processes import Child, ChildGone
from profilers.children.protocol import RequestRefused
from profilers.hardware.health import check_gpu
from profilers.sandbox import Jail

_START_TIMEOUT_S = 60.0
_UPLOAD_TIMEOUT_S = 300.0

Setup = Callable[["GpuWorker"], None]


class GpuWorker:
    """One worker on one GPU. Not thread-safe: the caller holds the evaluator's GPU lock.

    `setup` is run on every fresh worker: it uploads the cases and loads the baseline. Workers run
    in a jail that may read the folders `readable`; if there are none, without a jail. `isolation`
    is how the last one was isolated, `note` why it had no jail although one was wanted.
    """

    def __init__(
        self, *, device: int, support: Path, setup: Setup, readable: Sequence[Path] = ()
    ) -> None:
        """WorldError if no folder can be made."""
        self._device = device
        self._support = support
        self._setup = setup
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="rooftree-worker-")
        except OSError as error:
            where = tempfile.gettempdir()
            raise WorldError(f"cannot make a folder for workers in {where}: {error}") from error
        self._child: Child | None = None
        self._jail = (
            Jail(gpu=True, readable=tuple(readable), writable=(Path(self._folder.name),))
            if readable
            else None
        )
        self._started = False
        self.isolation: Isolation | None = None
        self.note: str | None = None

    def ready(self) -> None:
        """Start a worker unless one is running; WorldError if none can be started."""
        if self._child is not None and self._child.alive:
            return
        self.replace()
        try:
            self._start()
        except (ChildGone, RequestRefused) as error:
            self.replace()
            if self._jail is None or self._started:
                raise _not_started(error) from None
            self._start_without_jail(error)
        self._started = True
        try:
            self._setup(self)
        except (ChildGone, RequestRefused) as error:
            self.replace()
            raise _not_started(error) from None

    def _start(self) -> None:
        self._child = Child.module(
            "profilers.cuda.worker", cwd=Path(self._folder.name),
            arguments=["--device", str(self._device)], jail=self._jail,
        )  # fmt: skip
        self.isolation = self._child.isolation
        self.ask({"op": "start", "support": str(self._support)}, timeout_s=_START_TIMEOUT_S)

    def _start_without_jail(self, error: ChildGone | RequestRefused) -> None:
        """A driver that does not start in a jail may start outside, before any candidate has run.

        Never later: otherwise a candidate could get rid of its jail by leaving the GPU in a state
        in which a jailed worker does not start.
        """
        self._jail = None
        try:
            self._start()
        except (ChildGone, RequestRefused) as again:
            self.replace()
            raise _not_started(again) from None
        self.note = f"the GPU worker runs without a jail, in which it did not start: {error}"

    def ask(
        self, message: Mapping[str, Any], *, timeout_s: float = _UPLOAD_TIMEOUT_S
    ) -> dict[str, Any]:
        """Send one request. ChildGone if the worker was lost, RequestRefused if it says no.

        After a sticky error the worker is gone as well, and the next `ready` starts another.
        """
        assert self._child is not None
        try:
            return self._child.ask(message, timeout_s=timeout_s)
        except ChildGone:
            self._child = None
            raise
        except RequestRefused as refused:
            if refused.sticky:
                self.replace()
            raise

    def probe(self) -> str | None:
        """What is wrong with the GPU, asked from a fresh process; None if it works.

        The worker is ended first.
        """
        self.replace()
        return check_gpu(self._device, self._support, cwd=Path(self._folder.name))

    def replace(self) -> None:
        """Kill the worker; the next `ready` starts a fresh one."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def close(self) -> None:
        self.replace()
        self._folder.cleanup()


def _not_started(error: ChildGone | RequestRefused) -> WorldError:
    output = getattr(error, "output", "")
    return WorldError(f"a GPU worker did not start: {error} {output}".strip())
