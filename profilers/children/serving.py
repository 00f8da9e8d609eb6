"""The child's side of the channel: a loop that answers requests until the parent is gone."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from profilers.children.protocol import FrameError, RequestRefused, read_frame, write_frame

Handler = Callable[[dict[str, Any]], dict[str, Any]]


def serve(handlers: Mapping[str, Handler], argv: Sequence[str] | None = None) -> None:
    """Serve the channel that the command line names, until the parent is gone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--replies", type=int, required=True)
    options, _ = parser.parse_known_args(argv)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    serve_on(handlers, options.requests, options.replies)


def serve_on(handlers: Mapping[str, Handler], requests_fd: int, replies_fd: int) -> None:
    """Answer each ``{"op": name, ...}`` with ``{"ok": true, ...}`` or ``{"ok": false, ...}``.

    A request's ``nonce`` comes back in its answer. Returns when the judge closes its end.
    """
    while (request := read_frame(requests_fd)) is not None:
        reply = _answer(handlers, request)
        nonce = {"nonce": request["nonce"]} if "nonce" in request else {}
        try:
            write_frame(replies_fd, reply | nonce)
        except FrameError as error:
            write_frame(replies_fd, _refused("internal", str(error), sticky=True) | nonce)


def _answer(handlers: Mapping[str, Handler], request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"ok": True, **handlers[request["op"]](request)}
    except RequestRefused as refused:
        return _refused(refused.kind, str(refused), sticky=refused.sticky)
    except Exception as error:  # noqa: BLE001 - the sandbox boundary: the judge gets a status
        traceback.print_exc()
        sys.stderr.flush()
        kind = "cuda" if hasattr(error, "sticky") else "internal"
        sticky = bool(getattr(error, "sticky", True))
        message = str(error) if kind == "cuda" else f"{type(error).__name__}: {error}"
        return _refused(kind, message, sticky=sticky)


def _refused(kind: str, message: str, *, sticky: bool) -> dict[str, Any]:
    return {"ok": False, "kind": kind, "message": message, "sticky": sticky}


def _die_with_parent() -> None:
    """Kill this process group when stdin, the lifeline, ends: the parent is gone."""
    while os.read(0, 1):
        pass
    os.killpg(os.getpgid(0), signal.SIGKILL)
