"""The judge's hold on the GPU: a worker that is replaced whenever a candidate ruins it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mcts.errors import WorldError
from profilers.processes import Child, ChildGone

_START_TIMEOUT_S = 60.0
_UPLOAD_TIMEOUT_S = 300.0

Setup = Callable[["Bench"], None]


class Rejected(Exception):
    """The worker refused or failed a request that a candidate caused; `kind` says how."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Bench:
    """One worker on one GPU. Not thread-safe: whoever calls holds the evaluator's GPU lock.

    `setup` is run on every fresh worker: it uploads the cases and loads the baseline.
    """

    def __init__(self, *, device: int, support: Path, setup: Setup) -> None:
        self._device = device
        self._support = support
        self._setup = setup
        self._folder = tempfile.TemporaryDirectory(prefix="rooftree-worker-")
        self._child: Child | None = None

    def ready(self) -> None:
        """Start a worker unless one is up; WorldError where none can be had."""
        if self._child is not None and self._child.alive:
            return
        self.replace()
        self._child = Child.module(
            "profilers.worker", cwd=Path(self._folder.name),
            arguments=["--device", str(self._device)],
        )  # fmt: skip
        try:
            self.ask({"op": "start", "support": str(self._support)}, timeout_s=_START_TIMEOUT_S)
            self._setup(self)
        except (ChildGone, Rejected) as error:
            output = getattr(error, "output", "")
            self.replace()
            raise WorldError(f"a GPU worker did not start: {error} {output}".strip()) from None

    def ask(
        self, message: Mapping[str, Any], *, timeout_s: float = _UPLOAD_TIMEOUT_S
    ) -> dict[str, Any]:
        """Send one request. ChildGone where the worker was lost, Rejected where it said no.

        After a sticky error the worker is gone as well, and the next `ready` starts another.
        """
        assert self._child is not None
        try:
            reply = self._child.request(message, timeout_s=timeout_s)
        except ChildGone:
            self._child = None
            raise
        if reply["ok"]:
            return reply
        if reply["sticky"]:
            self.replace()
        raise Rejected(str(reply["kind"]), str(reply["message"]))

    def replace(self) -> None:
        """Kill the worker; the next `ready` starts a fresh one."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def close(self) -> None:
        self.replace()
        self._folder.cleanup()
