"""File descriptors sent over a Unix socket, for memory that two processes share."""

from __future__ import annotations

import argparse
import os
import socket
import struct
import time
from collections.abc import Sequence

_MOST = 64
_MARK = b"d"
_DESCRIPTOR = struct.Struct("i")


class DescriptorError(Exception):
    """The other side sent nothing in time, or not what was agreed."""


class DescriptorSocket:
    """One end of a socket pair over which descriptors travel (SCM_RIGHTS).

    Each descriptor is a message of its own, so that both sides stay in step.
    """

    def __init__(self, fd: int) -> None:
        """Take over `fd`, a connected Unix stream socket."""
        self._socket = socket.socket(fileno=fd)

    @classmethod
    def from_arguments(cls, argv: Sequence[str] | None = None) -> DescriptorSocket | None:
        """A child's end, named by ``--descriptors FD``; None if the judge offers none."""
        parser = argparse.ArgumentParser()
        parser.add_argument("--descriptors", type=int)
        options, _ = parser.parse_known_args(argv)
        return None if options.descriptors is None else cls(options.descriptors)

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, fds: Sequence[int], *, timeout_s: float = 10.0) -> None:
        """Send `fds`; ours stay open. Raises DescriptorError."""
        self._socket.settimeout(timeout_s)
        try:
            for fd in fds:
                socket.send_fds(self._socket, [_MARK], [fd])
        except OSError as error:
            raise DescriptorError(f"cannot hand over a descriptor: {error}") from None

    def receive(self, count: int, *, timeout_s: float) -> list[int]:
        """Receive `count` descriptors, not inheritable. DescriptorError closes those that came."""
        if not 0 <= count <= _MOST:
            raise ValueError(f"{count} descriptors at once, the cap is {_MOST}")
        deadline = time.monotonic() + timeout_s
        received: list[int] = []
        try:
            while len(received) < count:
                received += self._receive_one(deadline - time.monotonic())
        except BaseException:
            for fd in received:
                os.close(fd)
            raise
        return received

    def close(self) -> None:
        self._socket.close()

    def _receive_one(self, timeout_s: float) -> list[int]:
        if timeout_s <= 0:
            raise DescriptorError("no descriptor in time")
        self._socket.settimeout(timeout_s)
        try:
            # socket.recv_fds drops these flags before Python 3.12.
            room = socket.CMSG_LEN(_DESCRIPTOR.size)
            mark, extra, flags, _ = self._socket.recvmsg(1, room, socket.MSG_CMSG_CLOEXEC)
        except TimeoutError:
            raise DescriptorError("no descriptor in time") from None
        except OSError as error:
            raise DescriptorError(f"no descriptor: {error}") from None
        fds = [
            fd
            for level, kind, data in extra
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
            for (fd,) in _DESCRIPTOR.iter_unpack(data)
        ]
        if mark != _MARK or len(fds) != 1 or flags & socket.MSG_CTRUNC:
            for fd in fds:
                os.close(fd)
            raise DescriptorError("not one descriptor where one was expected")
        return fds
