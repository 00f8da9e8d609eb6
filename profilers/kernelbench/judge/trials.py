"""Whether problem files are fair tasks on a GPU: tried in the oracle alone, several at a time.

No candidate takes part, so that nothing has to be isolated or timed beside anything else.
"""

from __future__ import annotations

import secrets
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from mcts.domain import Policy
from mcts.errors import InputError, WorldError
from profilers.children.protocol import RequestRefused
from profilers.hardware.device import find_gpu
from profilers.hardware.locks import GpuLock
from profilers.kernelbench.judge.clients import ORACLE, OracleClient

_CALLS = 5
_LOCK_WAIT_S = 60.0
_COMPILE_S = 300.0


class NoRoom(Exception):
    """The device has no room for the problem beside others that are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What came of a problem: why its model `fails`, why the gate `refuses` it, the median time of
    a call in microseconds, and why torch.compile does not take it (`not_compiled`).

    Each is looked at only if nothing was wrong before.
    """

    fails: str | None = None
    refused: str | None = None
    us: float | None = None
    not_compiled: str | None = None


class ProblemTrials:
    """Holds a GPU and tries problems on it; `try_out` may be called by several threads.

    A context manager. Leaving it ends the trials that still go on, with a WorldError. `device` is
    an ordinal or "cpu". WorldError if another process has the GPU.
    """

    def __init__(
        self, device: int | str, *, say: Callable[[str], None], module: str = ORACLE
    ) -> None:
        self._device, self._say, self._module = device, say, module
        self._timing = threading.Lock()
        self._open = threading.Lock()
        self._oracles: set[OracleClient] = set()
        self._held = ExitStack()
        self._closed = False

    def __enter__(self) -> ProblemTrials:
        if isinstance(self._device, int):
            lock = GpuLock(find_gpu(self._device, compiler=False).uuid)
            lock.acquire(wait_s=_LOCK_WAIT_S, on_wait=self._say)
            self._held.callback(lock.release)
        return self

    def __exit__(self, *_: object) -> None:
        with self._open:
            self._closed = True
            for oracle in self._oracles:
                oracle.hang_up()  # the thread that asks it closes it
        self._held.close()

    def try_out(self, source: str, *, shortest_us: float, longest_us: float) -> Trial:
        """Run a problem's text, pass it through the gate, time it, and have it compiled if its time
        is between the two.

        Calls are timed one problem at a time; what others run meanwhile beside them can only
        lengthen a time. Raises NoRoom if the device's memory is short, WorldError if the GPU fails.
        """
        with tempfile.TemporaryDirectory(prefix="rooftree-") as folder:
            problem = Path(folder) / "problem.py"
            problem.write_text(source, encoding="utf-8")
            oracle = self._oracle(problem.parent)
            try:
                return self._trial(oracle, problem, shortest_us, longest_us)
            except RequestRefused as refused:
                raise NoRoom(str(refused)) from None
            finally:
                with self._open:
                    self._oracles.discard(oracle)
                oracle.close()

    def _oracle(self, folder: Path) -> OracleClient:
        with self._open:
            if self._closed:
                raise WorldError("the trials were ended")
            oracle = OracleClient(self._module, cwd=folder, device=self._device)
            self._oracles.add(oracle)
            return oracle

    def _trial(
        self, oracle: OracleClient, problem: Path, shortest_us: float, longest_us: float
    ) -> Trial:
        try:
            oracle.start(problem, Policy().model_dump(mode="json"), secrets.randbits(63))
            refusals = oracle.ask("gate")["refusals"]
            if refusals:
                return Trial(refused="; ".join(map(str, refusals)))
            us = self._time(oracle)
        except InputError as fault:
            return Trial(fails=str(fault))
        if not shortest_us <= us <= longest_us:
            return Trial(us=us)
        told = oracle.ask("compiled", wanted=True, timeout_s=_COMPILE_S)
        return Trial(us=us, not_compiled=None if told["available"] else str(told["reason"]))

    def _time(self, oracle: OracleClient) -> float:
        oracle.ask("draw", id="timed", seed=secrets.randbits(63), at=None)
        oracle.ask("prepare", ids=["timed"] * _CALLS)
        with self._timing:
            oracle.ask("warm")
            oracle.ask("run", flush=True)
            found = oracle.ask("run", flush=True)["events_us"]
        oracle.ask("forget", ids=["timed"])
        return median(map(float, found))
