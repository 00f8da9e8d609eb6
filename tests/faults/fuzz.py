"""Garbled text of others: every reader gives a value or one of our errors, and does so soon."""

from __future__ import annotations

import random
import signal
import tempfile
import traceback
from pathlib import Path

from mcts.errors import RooftreeError
from tests.faults.readers import Try, readers
from tests.faults.tally import Tally

LIMIT_S = 10
BATCH = 100
"""Tries of one reader in a strike."""


class TooSlow(BaseException):
    """A reader took longer than `LIMIT_S`."""


class Fuzz:
    name = "fuzzed text"

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._folder = tempfile.TemporaryDirectory(prefix="rooftree-faults-")
        self._readers = dict(readers(Path(self._folder.name)))
        self._turn = 0

    def strike(self, tally: Tally) -> None:
        """A batch for the reader whose turn it is."""
        name = list(self._readers)[self._turn % len(self._readers)]
        self._turn += 1
        for _ in range(BATCH):
            seed = self._rng.getrandbits(48)
            if fault := _fault(self._readers[name], seed):
                tally.violated(f"fuzzed {name}", f"seed {seed}: {fault}")
        tally.tried(f"fuzzed {name}", BATCH)


def _fault(attempt: Try, seed: int) -> str | None:
    def ring(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(LIMIT_S)
    try:
        attempt(random.Random(seed))
    except RooftreeError:
        return None
    except TooSlow:
        return f"no answer in {LIMIT_S} s"
    except Exception:  # noqa: BLE001  whatever it is, it is the finding
        return traceback.format_exc(limit=-4)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return None
