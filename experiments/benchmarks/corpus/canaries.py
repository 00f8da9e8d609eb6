"""What a leaking candidate would find: a false key, and services of this machine that answer."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

VARIABLE = "ROOFTREE_CORPUS_CANARY_KEY"


@contextmanager
def planted() -> Iterator[None]:
    """A secret in the environment, a listening port and a listening socket, for a while.

    An exhibit that finds one of them raises, which none of them may.
    """
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "canary"
    with ExitStack() as stack:
        port = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        port.bind(("127.0.0.1", 0))
        port.listen()
        local = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        local.bind(f"\0rooftree-corpus-{os.getpid()}")
        local.listen()
        try:
            yield
        finally:
            if before is None:
                del os.environ[VARIABLE]
            else:
                os.environ[VARIABLE] = before
