"""What a candidate can do on the device."""

from __future__ import annotations

import time
from collections.abc import Callable

_deferred: list[Callable[[], None]] = []


def spend(ms: float) -> None:
    """Be busy for so long."""
    time.sleep(ms / 1e3)


def defer(work: Callable[[], None]) -> None:
    """Do `work` on another stream: by the time that the device is waited for."""
    _deferred.append(work)


def synchronize() -> None:
    while _deferred:
        _deferred.pop(0)()
