"""Retries with growing pauses, then the next model."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from codegen.chat.messages import Reply
from mcts.errors import InputError, ProposalRejected, RooftreeError, WorldError

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
LONGEST_ASKED_S = 300.0
"""A service that asks for a longer pause than this is not waited for."""
REST_S = 60.0
"""How long a model that kept failing is passed over while another one can be asked."""

ErrorKind = Literal["transient", "permanent", "configuration", "too_long", "refused"]


class RequestError(Exception):
    """A request that brought no reply.

    transient: the same request may work a moment later, after `wait_s` seconds if the service
    says so. permanent: no retry will help. configuration: the user must correct something (a key,
    a model's name). too_long: the prompt is too long for this model. refused: the service refuses
    this prompt. The text is one line without secrets.
    """

    def __init__(self, kind: ErrorKind, text: str, *, wait_s: float | None = None) -> None:
        super().__init__(text)
        self.kind, self.wait_s = kind, wait_s


@dataclass(frozen=True, slots=True)
class _Failure:
    """How asking one model ended; `faults` are the texts of all its errors, the last included."""

    error: RequestError
    faults: tuple[str, ...]

    @property
    def attempts(self) -> int:
        return len(self.faults)


class Retries:
    """Asks `models` in their order until one answers. Thread-safe.

    After a transient error a model is asked `retries` times more, with a pause before each. Then,
    or after any other error than a refused prompt, the next model is asked. A model with an error
    of configuration is not asked again while another one is left; one that kept failing is passed
    over for a while.

    `sleep` waits so many seconds; closing the client must interrupt it.
    """

    def __init__(
        self,
        models: Sequence[str],
        *,
        retries: int,
        sleep: Callable[[float], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._models, self._retries, self._sleep, self._clock = models, retries, sleep, clock
        self._lock = threading.Lock()
        self._misconfigured: set[str] = set()
        self._rests_until: dict[str, float] = {}
        self._random = random.Random()

    def ask(self, send: Callable[[str], Reply], *, who: Callable[[str], str]) -> Reply:
        """The first reply that `send` returns; it raises RequestError if there is none.

        `who` names a model in messages. Raises InputError if every model is misconfigured,
        ProposalRejected if the prompt is refused or too long for all, otherwise WorldError.
        """
        failures: dict[str, _Failure] = {}
        for model in self._candidates():
            found = self._with_retries(model, send)
            if isinstance(found, Reply):
                faults = [fault for each in failures.values() for fault in each.faults]
                faults += found.faults
                return replace(found, attempts=len(faults) + 1, faults=tuple(faults))
            failures[model] = found
            self._note_failure(model, found.error)
            if found.error.kind == "refused":
                break
        raise self._error({who(model): failure for model, failure in failures.items()})

    def _candidates(self) -> list[str]:
        """The models to ask, in the user's order; all of them if none is left."""
        with self._lock:
            now = self._clock()
            open_ = [model for model in self._models if model not in self._misconfigured]
            rested = [model for model in open_ if self._rests_until.get(model, now) <= now]
        resting = [model for model in open_ if model not in rested]
        return rested + resting or list(self._models)

    def _with_retries(self, model: str, send: Callable[[str], Reply]) -> Reply | _Failure:
        faults: list[str] = []
        for attempt in range(self._retries + 1):
            try:
                return replace(send(model), faults=tuple(faults))
            except RequestError as error:
                faults.append(str(error))
                wait_s = self._pause_s(error, attempt)
                if error.kind != "transient" or attempt == self._retries or wait_s is None:
                    return _Failure(error, tuple(faults))
                self._sleep(wait_s)
        raise AssertionError("the loop returns")

    def _pause_s(self, error: RequestError, attempt: int) -> float | None:
        """Seconds before the next attempt, None if the service asks for too many.

        The pause doubles from one second and is drawn from its upper half, so that many calls
        that failed together do not come back together.
        """
        if error.wait_s is not None and error.wait_s > LONGEST_ASKED_S:
            return None
        longest = min(FIRST_PAUSE_S * 2.0**attempt, LONGEST_PAUSE_S)
        own = longest * (1 + self._random.random()) / 2
        return own if error.wait_s is None else error.wait_s + own / 10

    def _note_failure(self, model: str, error: RequestError) -> None:
        with self._lock:
            if error.kind == "configuration":
                self._misconfigured.add(model)
            elif error.kind in ("transient", "permanent"):
                self._rests_until[model] = self._clock() + REST_S

    def _error(self, failures: dict[str, _Failure]) -> RooftreeError:
        """One error for all models: WorldError if waiting may help, else the user's."""
        text = "; ".join(_sentence(who, failure) for who, failure in failures.items())
        kinds = {failure.error.kind for failure in failures.values()}
        if "refused" in kinds:
            return ProposalRejected(_sentence(*list(failures.items())[-1]))
        if kinds & {"transient", "permanent"}:
            return WorldError(text)
        return ProposalRejected(text) if "too_long" in kinds else InputError(text)


def _sentence(who: str, failure: _Failure) -> str:
    error = failure.error
    if error.kind != "transient":
        return f"{who} {error}"
    tries = f"{failure.attempts} attempts" if failure.attempts > 1 else "1 attempt"
    text = f"{who} gave no answer in {tries}: {error}"
    if error.wait_s is not None and error.wait_s > LONGEST_ASKED_S:
        text += f" (it asks to wait {error.wait_s:.0f} s)"
    return text
