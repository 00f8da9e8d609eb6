"""The judge's end of a child: requests and answers in turn, what it prints, how it is isolated.

`Child` is a process of its own, `ForkedChild` a fork of a fork server. Both are this channel; they
differ in how they end.
"""

from __future__ import annotations

import abc
import contextlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from mcts.domain import Isolation
from mcts.errors import WorldError
from profilers.children.descriptors import DescriptorError, DescriptorSocket
from profilers.children.protocol import (
    DeadlineError,
    FrameError,
    RequestRefused,
    read_frame,
    write_frame,
)
from profilers.children.supervised import Tail
from profilers.sandbox.report import JailReport, read_report

_OUTPUT_CAP = 8192
_ENTER_TIMEOUT_S = 30.0
_LAST_WORDS_S = 1.0


class ChildGone(Exception):
    """The child crashed, hung or broke the protocol. It has been killed.

    `hung`: it missed a deadline, rather than crash. `output` is the end of what it printed.
    """

    def __init__(self, reason: str, *, hung: bool, output: str) -> None:
        super().__init__(reason)
        self.hung = hung
        self.output = output


@dataclass(slots=True)
class ChannelEnds:
    """One side's descriptors; -1 for what is closed or was not asked for.

    lifeline: its other end hangs up when the judge is gone. report: the child writes its
    `JailReport` there. descriptors: a socket over which descriptors are sent.
    """

    requests: int
    replies: int
    lifeline: int
    output: int
    report: int = -1
    descriptors: int = -1

    def close(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) >= 0:
                os.close(getattr(self, name))
                setattr(self, name, -1)

    def open(self) -> tuple[int, ...]:
        return tuple(fd for fd in astuple(self) if fd >= 0)


def make_ends(*, report: bool, descriptors: bool) -> tuple[ChannelEnds, ChannelEnds]:
    """Our ends and theirs, none inheritable. WorldError if descriptors have run out."""
    opened: list[int] = []
    try:
        for _ in range(5 if report else 4):
            opened += os.pipe()
        their_requests, requests, replies, their_replies, their_lifeline, lifeline = opened[:6]
        output, their_output = opened[6:8]
        ours = ChannelEnds(requests, replies, lifeline, output)
        theirs = ChannelEnds(their_requests, their_replies, their_lifeline, their_output)
        if report:
            ours.report, theirs.report = opened[8:10]
        if descriptors:
            pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            ours.descriptors, theirs.descriptors = (end.detach() for end in pair)
    except OSError as error:
        for fd in opened:
            os.close(fd)
        raise WorldError(f"no pipes to talk to a process: {error}") from error
    return ours, theirs


class Channel(abc.ABC):
    """A child that answers one request at a time over dedicated pipes. Not thread-safe.

    The end of what it prints is kept. Each request carries a fresh nonce that the answer must
    repeat, so that nothing sent earlier can be taken for an answer.
    """

    def __init__(self, ours: ChannelEnds) -> None:
        """Take over `ours`."""
        self._ends = ours
        self._tail = Tail(ours.output, _OUTPUT_CAP)
        ours.output = -1  # owned by the tail now
        self._report: JailReport | None = None
        self._lifeline = threading.Lock()
        self._descriptors: DescriptorSocket | None = None
        if ours.descriptors >= 0:
            self._descriptors, ours.descriptors = DescriptorSocket(ours.descriptors), -1
        os.set_blocking(ours.requests, False)
        os.set_blocking(ours.replies, False)

    @property
    @abc.abstractmethod
    def pid(self) -> int:
        """Process id of the child, or of its guardian if it has one."""

    @property
    @abc.abstractmethod
    def alive(self) -> bool:
        """Whether it still runs."""

    @abc.abstractmethod
    def kill(self) -> None:
        """Kill it and all that it started, and wait for its end; idempotent."""

    @abc.abstractmethod
    def _ending(self, *, timeout_s: float) -> str | None:
        """How it ended, waiting up to `timeout_s` for that; None if it has not."""

    @property
    def isolation(self) -> Isolation:
        """How the child is isolated; ChildGone if it ended before it was."""
        if self._report is None:
            if self._ends.report < 0:
                return Isolation(level="process")
            try:
                self._report = read_report(self._ends.report, timeout_s=_ENTER_TIMEOUT_S)
            except (WorldError, OSError, ValueError) as error:
                raise self._gone(str(error), hung=False) from None
        return self._report.isolation()

    def request(self, message: Mapping[str, Any], *, timeout_s: float) -> dict[str, Any]:
        """Send a request and return the reply, even a refusal. ChildGone, killed, without one."""
        if self._ends.requests < 0:
            raise self._gone("it was ended", hung=False)
        deadline = time.monotonic() + timeout_s
        nonce = secrets.token_hex(8)
        try:
            write_frame(self._ends.requests, {**message, "nonce": nonce}, deadline=deadline)
            reply = read_frame(self._ends.replies, deadline=deadline)
        except DeadlineError:
            raise self._gone(f"no answer within {timeout_s:.3g} s", hung=True) from None
        except (FrameError, OSError) as error:
            raise self._gone(str(error), hung=False) from None
        except BaseException:  # interrupted: a late reply would be taken for the next one's
            self.kill()
            raise
        if reply is None:
            raise self._gone("it ended", hung=False)
        if reply.pop("nonce", None) != nonce:
            raise self._broken("it answered out of turn")
        if not _is_answer(reply):
            raise self._broken("its answer says neither yes nor why not")
        return reply

    def ask(self, message: Mapping[str, Any], *, timeout_s: float) -> dict[str, Any]:
        """Send a request and return the answer; RequestRefused if the child says no, ChildGone."""
        reply = self.request(message, timeout_s=timeout_s)
        if not reply["ok"]:
            raise RequestRefused(reply["kind"], reply["message"], sticky=reply["sticky"])
        return reply

    def send_descriptors(self, fds: Sequence[int], *, timeout_s: float = 10.0) -> None:
        """Send open descriptors to the child; ChildGone if it does not take them."""
        try:
            self._descriptor_socket().send(fds, timeout_s=timeout_s)
        except DescriptorError as error:
            raise self._gone(str(error), hung=False) from None

    def receive_descriptors(self, count: int, *, timeout_s: float) -> list[int]:
        """Receive `count` descriptors, ours to close; ChildGone if they do not come."""
        try:
            return self._descriptor_socket().receive(count, timeout_s=timeout_s)
        except DescriptorError as error:
            raise self._gone(str(error), hung=False) from None

    def _descriptor_socket(self) -> DescriptorSocket:
        if self._descriptors is None:
            raise ValueError("this child was started without descriptors=True")
        return self._descriptors

    def _gone(self, reason: str, *, hung: bool) -> ChildGone:
        if not hung:
            reason = self._ending(timeout_s=_LAST_WORDS_S) or reason
        return self._broken(reason, hung=hung)

    def _broken(self, reason: str, *, hung: bool = False) -> ChildGone:
        self.kill()
        return ChildGone(reason, hung=hung, output=self._tail.text().strip())

    def hang_up(self) -> None:
        """Have the child end with all that it started, without waiting for that; idempotent.

        Another thread may be waiting for an answer: it gets ChildGone.
        """
        with self._lifeline:
            if self._ends.lifeline >= 0:
                os.close(self._ends.lifeline)
                self._ends.lifeline = -1

    def _close(self) -> None:
        if self._report is None and self._ends.report >= 0:
            with contextlib.suppress(WorldError, OSError, ValueError):
                self._report = read_report(self._ends.report, timeout_s=0)
        with self._lifeline:
            self._ends.close()
        if self._descriptors is not None:
            self._descriptors.close()
        self._tail.finish()


def _is_answer(reply: Mapping[str, Any]) -> bool:
    said = reply.get("ok")
    if said is False:
        texts = isinstance(reply.get("kind"), str) and isinstance(reply.get("message"), str)
        return texts and isinstance(reply.get("sticky"), bool)
    return said is True
