"""The judge's side of a fork server: what is slow to import is imported once, children are forks.

A fork of a process that has imported PyTorch starts in milliseconds instead of seconds, and so
every candidate can have a process of its own. The module that is started imports what is slow, then
calls `forking.serve_forks`.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mcts.errors import WorldError
from profilers.children.channel import Channel, ChannelEnds, ChildGone, make_ends
from profilers.children.forking import STATUS
from profilers.children.processes import Child, describe_ending
from profilers.sandbox import Jail

_START_TIMEOUT_S = 300.0
_FORK_TIMEOUT_S = 30.0
_GUARDIAN_S = 5.0


class ForkedChild(Channel):
    """A fork of a fork server in its own jail; the same channel as a `Child`."""

    def __init__(
        self, ours: ChannelEnds, *, status: int, pid: int, end: Callable[[int], None]
    ) -> None:
        """`status`: the pipe that gets its wait status. `end` has the fork server kill it."""
        super().__init__(ours)
        self._status = status
        self._pid = pid
        self._end = end
        self._said: bytes | None = None  # empty if the fork server ended first

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def alive(self) -> bool:
        return not self._has_ended(0)

    def kill(self) -> None:
        """End it and all that it started, and wait until they are gone; idempotent."""
        if self._ends.requests < 0:
            return
        self.hang_up()  # its guardian kills all that is in the jail, then ends
        if not self._has_ended(_GUARDIAN_S):
            self._end(self._pid)
            self._has_ended(_GUARDIAN_S)
        self._close()
        os.close(self._status)

    def _ending(self, *, timeout_s: float) -> str | None:
        if not self._has_ended(timeout_s):
            return None
        if not self._said:
            self.kill()
            raise WorldError("the process that this one was forked from has ended")
        code = os.waitstatus_to_exitcode(STATUS.unpack(self._said)[0])
        return describe_ending(code) if code else None

    def _has_ended(self, timeout_s: float) -> bool:
        if self._said is None:
            poller = select.poll()
            poller.register(self._status, select.POLLIN)
            if poller.poll(timeout_s * 1e3):
                self._said = os.read(self._status, STATUS.size)
        return self._said is not None


class ForkServer:
    """Starts and restarts the process that forks. Thread-safe; the children are not."""

    def __init__(
        self,
        module: str,
        *,
        cwd: Path,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        start_timeout_s: float = _START_TIMEOUT_S,
    ) -> None:
        """Start ``python -m module``; WorldError if no process can be started.

        It imports in the background; the first `fork` waits for it, up to `start_timeout_s`.
        """
        self._module = module
        self._cwd = cwd
        self._arguments = tuple(arguments)
        self._environment = environment
        self._start_timeout_s = start_timeout_s
        self._lock = threading.Lock()
        self._child = self._start()
        self._ready = False
        self._closed = False

    @property
    def pid(self) -> int:
        return self._child.pid

    def fork(self, jail: Jail, *, cwd: Path) -> ForkedChild:
        """A fresh child in `jail`, working in `cwd`, which the jail must let it see.

        A fork server that has died is started again, once. WorldError if that does not help, or no
        process can be forked.
        """
        with self._lock:
            if self._closed:
                raise WorldError(f"{self._module} was closed")
            try:
                return self._fork(jail, cwd)
            except ChildGone:
                self._child, self._ready = self._start(), False
            try:
                return self._fork(jail, cwd)
            except ChildGone as gone:
                raise WorldError(f"{self._module} ends: {gone} {gone.output}".strip()) from None

    def close(self) -> None:
        """End the fork server and all its forks; idempotent."""
        with self._lock:
            self._closed = True
            self._child.kill()

    def _start(self) -> Child:
        return Child.module(
            self._module, cwd=self._cwd, arguments=self._arguments,
            environment=self._environment, descriptors=True,
        )  # fmt: skip

    def _fork(self, jail: Jail, cwd: Path) -> ForkedChild:
        child = self._child
        if not self._ready:
            child.request({"op": "hello"}, timeout_s=self._start_timeout_s)
            self._ready = True
        ours, theirs = make_ends(report=True, descriptors=True)
        status, their_status = os.pipe()
        try:
            child.send_descriptors([*theirs.open(), their_status])
            request = {"op": "fork", "jail": jail.to_json(), "cwd": str(cwd)}
            reply = child.request(request, timeout_s=_FORK_TIMEOUT_S)
            if not reply["ok"]:
                raise WorldError(f"{self._module} cannot fork: {reply['message']}")
        except BaseException:
            ours.close()
            os.close(status)
            raise
        finally:
            theirs.close()
            os.close(their_status)
        return ForkedChild(ours, status=status, pid=int(reply["pid"]), end=self._ender(child))

    def _ender(self, child: Child) -> Callable[[int], None]:
        """A function that has `child`, the present fork server, kill one of its forks."""

        def end(pid: int) -> None:
            with self._lock, contextlib.suppress(ChildGone):
                if child.alive:
                    child.request({"op": "kill", "pid": pid}, timeout_s=_FORK_TIMEOUT_S)

        return end
