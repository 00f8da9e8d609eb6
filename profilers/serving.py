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

from profilers.protocol import read_frame, write_frame

Handler = Callable[[dict[str, Any]], dict[str, Any]]


class Refusal(Exception):
    """A request that is answered with an error; `kind` tells the judge what it means."""

    def __init__(self, kind: str, message: str, *, sticky: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.sticky = sticky


def serve(handlers: Mapping[str, Handler], argv: Sequence[str] | None = None) -> None:
    """Answer each ``{"op": name, ...}`` with ``{"ok": true, ...}`` or ``{"ok": false, ...}``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--replies", type=int, required=True)
    options, _ = parser.parse_known_args(argv)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    while (request := read_frame(options.requests)) is not None:
        write_frame(options.replies, _answer(handlers, request))


def _answer(handlers: Mapping[str, Handler], request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"ok": True, **handlers[request["op"]](request)}
    except Refusal as refusal:
        kind, sticky, message = refusal.kind, refusal.sticky, str(refusal)
    except Exception as error:  # noqa: BLE001 - the sandbox boundary: the judge gets a status
        traceback.print_exc()
        sys.stderr.flush()
        kind = "cuda" if hasattr(error, "sticky") else "internal"
        sticky = bool(getattr(error, "sticky", True))
        message = str(error) if kind == "cuda" else f"{type(error).__name__}: {error}"
    return {"ok": False, "kind": kind, "message": message, "sticky": sticky}


def _die_with_parent() -> None:
    """The lifeline: stdin ends when the parent is gone, however it went."""
    while os.read(0, 1):
        pass
    os.killpg(os.getpgid(0), signal.SIGKILL)
