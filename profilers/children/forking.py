"""The fork server's own process: it has imported what is slow to import, and forks on request.

It never runs a candidate's code. Each fork enters the jail that came with the request before it
serves. With each request the judge sends the fork's `channel.ChannelEnds`, in their order, and the
pipe to which its wait status is written when it has ended.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import select
import signal
import struct
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from profilers.children.descriptors import DescriptorError, DescriptorSocket
from profilers.children.protocol import read_frame, write_frame
from profilers.children.serving import Handler, serve_on
from profilers.sandbox import Jail, JailReport
from profilers.sandbox.enter import enter, prepare
from profilers.sandbox.launch import environment_inside, write_report

STATUS = struct.Struct("<i")
DESCRIPTORS_PER_FORK = 7

_HAND_OVER_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class ForkContext:
    """What a fork is given: its folder, what its jail enforces, and a socket for descriptors."""

    cwd: Path
    report: JailReport
    descriptors: DescriptorSocket


MakeHandlers = Callable[[ForkContext], Mapping[str, Handler]]


def serve_forks(make_handlers: MakeHandlers, argv: Sequence[str] | None = None) -> None:
    """Fork on request until the judge is gone; each fork serves what `make_handlers` returns.

    Call this last, once everything that forks share is imported and no other thread runs.
    `make_handlers` runs inside the fork, in its jail.
    """
    parser = argparse.ArgumentParser()
    for name in ("--requests", "--replies", "--descriptors"):
        parser.add_argument(name, type=int, required=True)
    options, _ = parser.parse_known_args(argv)
    prepare()
    gc.collect()
    gc.freeze()  # a later collection would copy every page that it looks at
    _ForkLoop(options.requests, options.replies, options.descriptors, make_handlers).run()


class _ForkLoop:
    def __init__(
        self, requests: int, replies: int, descriptors: int, make_handlers: MakeHandlers
    ) -> None:
        self._requests = requests
        self._replies = replies
        self._descriptors = DescriptorSocket(descriptors)
        self._make_handlers = make_handlers
        self._statuses: dict[int, int] = {}  # by process, the pipe for its wait status
        # Hangs up when the fork server is gone; then the guardians of its forks kill them.
        self._alive, self._held_open = os.pipe()
        self._wake, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)

    def run(self) -> None:
        poller = select.poll()
        poller.register(0, 0)  # the lifeline: poll always reports a hang-up
        poller.register(self._wake, select.POLLIN)
        poller.register(self._requests, select.POLLIN)
        while 0 not in (events := dict(poller.poll())):
            if self._wake in events:
                os.read(self._wake, 65536)
                self._reap()
            if self._requests in events:
                request = read_frame(self._requests)
                if request is None:
                    return
                write_frame(self._replies, self._answer(request) | {"nonce": request["nonce"]})

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            if request["op"] == "fork":
                return {"ok": True, "pid": self._fork(request)}
            if request["op"] == "kill" and request["pid"] in self._statuses:
                os.kill(request["pid"], signal.SIGKILL)
        except (OSError, DescriptorError) as error:
            return {"ok": False, "kind": "fork", "message": str(error), "sticky": False}
        return {"ok": True}

    def _fork(self, request: dict[str, Any]) -> int:
        *ends, status = self._descriptors.receive(
            DESCRIPTORS_PER_FORK, timeout_s=_HAND_OVER_TIMEOUT_S
        )
        try:
            sys.stdout.flush()
            sys.stderr.flush()
            server = os.getpid()
            pid = os.fork()
        except OSError:
            os.close(status)
            raise
        finally:
            if os.getpid() == server:
                for fd in ends:
                    os.close(fd)
        if pid == 0:
            self._statuses[0] = status
            self._run_fork(request, ends)
        self._statuses[pid] = status
        return pid

    def _run_fork(self, request: dict[str, Any], ends: list[int]) -> NoReturn:
        """In the fork: close what is the fork server's, enter the jail, serve."""
        code = 1
        try:
            requests, replies, lifeline, output, report_fd, descriptors = ends
            self._close_server_ends()
            for fd, standard in ((lifeline, 0), (output, 1), (output, 2)):
                os.dup2(fd, standard)
            os.close(lifeline)
            os.close(output)
            jail = Jail.from_json(request["jail"])
            os.chdir(request["cwd"])
            report = enter(jail, lifelines=(0, self._alive))
            os.close(self._alive)
            os.environ.update(environment_inside(report, jail, os.environ))
            tempfile.tempdir = None  # found again, from the environment
            write_report(report_fd, report)
            context = ForkContext(Path(request["cwd"]), report, DescriptorSocket(descriptors))
            serve_on(self._make_handlers(context), requests, replies)
            code = 0
        except BaseException:  # noqa: BLE001 - a fork must never go on as the fork server
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _close_server_ends(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._descriptors.close()
        for fd in (self._requests, self._replies, self._wake, self._waker, self._held_open):
            os.close(fd)
        for fd in self._statuses.values():
            os.close(fd)

    def _reap(self) -> None:
        for pid in list(self._statuses):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                pipe = self._statuses.pop(pid)
                with contextlib.suppress(OSError):  # the judge may not read it any more
                    os.write(pipe, STATUS.pack(status))
                os.close(pipe)
