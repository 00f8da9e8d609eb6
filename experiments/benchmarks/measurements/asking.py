"""What a study fixes of a language model, and the clients that its arms share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from codegen.chat.cache import CachedClient, open_cache
from codegen.chat.clients import client_of
from codegen.chat.messages import ChatClient, Message, Offer, Reply
from codegen.chat.request import Route
from experiments.text.words import did_you_mean
from mcts.domain import Noun
from mcts.errors import AnswerPending, Suspended, WorldError
from mcts.options import OFF, ModelOptions

ANSWERS_FILE = "answers.sqlite"
QUIET_S = 5.0
"""A question is given up for now if nothing has been measured for so long."""
_POLL_S = 0.5
_MONEY = ("cost_usd", "tokens", "prompt_tokens", "completion_tokens")
_FIRST = (
    "name", "fallbacks", "reply_tokens", "temperature", "feedback", "tune", "branches",
    "prompt_tokens", "reply_repairs", "library", "lookups", "lookup_tokens", "lookup_protocol",
)  # fmt: skip
"""What was asked when the first studies were made: these alone are in every arm's key."""
ASKED = tuple(name for name, option in ModelOptions.options().items() if option.lasting)
"""What an arm may say of the model: what is asked, not where it is asked."""


def _only_asked(table: Any) -> Any:
    """The options of an arm as they are written, each one that a study can fix."""
    if isinstance(table, dict):
        for name in table:
            if name not in ASKED:
                hint = did_you_mean(str(name), ASKED, behind=" ")
                raise ValueError(f"there is no key {name}; {hint}an arm has {', '.join(ASKED)}")
    return table


Asked = Annotated[
    ModelOptions,
    BeforeValidator(_only_asked),
    PlainSerializer(lambda options: options.model_dump(mode="json", exclude_unset=True)),
]
"""Options of the model that belong to a study or to an arm."""


def asked_fields(options: ModelOptions) -> dict[str, Any]:
    """What is asked, by field; where it is asked is left out.

    So are options that came later, where they are as if they were not there: arms of earlier
    studies stay what they were.
    """
    found = options.model_dump(mode="json")
    usual = ModelOptions().model_dump(mode="json")
    return {
        name: value
        for name, value in found.items()
        if name in ASKED and (name in _FIRST or value != usual[name])
    }


def same_but_money(one: Noun, other: Noun) -> bool:
    """Whether two lines of results agree in all but what was paid: a replay pays nothing."""
    return _without_money(one) == _without_money(other)


def _without_money(line: Noun) -> dict[str, Any]:
    return {name: value for name, value in line.model_dump().items() if name not in _MONEY}


class SharedClients:
    """One client for each model of a study, over one cache of answers: a question that two arms ask
    is paid for once. Thread-safe.

    `session` says where the model is asked, None that nobody may be: answers are then the cache's.
    They are known without the server's address, so that another session may ask elsewhere.

    With a queue of files a question without a reply raises AnswerPending, so that whoever asks can
    go on elsewhere; not before what it has in measurement is measured.
    """

    def __init__(self, answers: Path, session: ModelOptions | None, *, run_id: str) -> None:
        self._answers, self._session, self._run_id = answers, session, run_id
        self._clients: dict[Route, ChatClient] = {}
        self._lock, self._closed = threading.Lock(), threading.Event()

    def of(
        self,
        options: ModelOptions,
        *,
        is_measuring: Callable[[], bool] = lambda: False,
        may_leave: Callable[[], bool] = lambda: True,
    ) -> ChatClient:
        """Who answers; closed with the others, not by who asks.

        is_measuring: whether something is being measured of those that ask. may_leave: whether
        there is something else to go on with; otherwise an answer is waited for as long as a
        request may take.
        """
        route = Route(options.name or "", options.fallbacks, probabilities=options.model_prior)
        with self._lock:
            if route not in self._clients:
                inner: ChatClient = _Nobody()
                if self._session is not None:
                    asked = options.changed_by(self._session)
                    changes: dict[str, Any] = {"cache": OFF}
                    if asked.queue is not None:
                        changes["timeout_s"] = 0.0
                    inner = client_of(asked.model_copy(update=changes))
                store = open_cache(self._answers)
                self._clients[route] = CachedClient(inner, store, route=route, run_id=self._run_id)
            return _Lent(
                self._clients[route],
                self._closed,
                patience_s=self._patience_s,
                is_measuring=is_measuring,
                may_leave=may_leave,
            )

    @property
    def _patience_s(self) -> float | None:
        """How long an answer may take; None for ever."""
        given = self._session.given() if self._session is not None else {}
        return given.get("timeout_s")

    def close(self) -> None:
        """Give up what is in flight; idempotent."""
        self._closed.set()
        with self._lock:
            for client in self._clients.values():
                client.close()
            self._clients.clear()


class _Lent:
    """A client that whoever asks by it cannot close.

    What is cut off when the study closes it is not abandoned: it is asked again.
    """

    def __init__(
        self,
        client: ChatClient,
        closed: threading.Event,
        *,
        patience_s: float | None,
        is_measuring: Callable[[], bool],
        may_leave: Callable[[], bool],
    ) -> None:
        self._client, self._closed = client, closed
        self._patience_s, self._is_measuring = patience_s, is_measuring
        self._may_leave = may_leave

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        seed: int | None = None,
        offer: Offer | None = None,
    ) -> Reply:
        quiet_since = time.monotonic()
        while True:
            try:
                return self._client.complete(
                    messages, max_tokens=max_tokens, temperature=temperature, seed=seed, offer=offer
                )
            except AnswerPending:
                now = time.monotonic()
                if self._is_measuring():
                    quiet_since = now
                elif self._is_over(now - quiet_since):
                    raise
                if self._closed.wait(min(_POLL_S, self._patience_s or _POLL_S)):
                    raise Suspended("the study was stopped") from None
            except WorldError as error:
                if self._closed.is_set() and not isinstance(error, Suspended):
                    raise Suspended("the study was stopped") from None
                raise

    def _is_over(self, quiet_s: float) -> bool:
        """Whether to give up for now, after nothing was measured for so long."""
        if self._patience_s is not None and quiet_s >= self._patience_s:
            return True
        return quiet_s >= QUIET_S and self._may_leave()

    def close(self) -> None:
        """It is closed with the study."""


class _Nobody:
    """A client that asks nobody."""

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        seed: int | None = None,
        offer: Offer | None = None,
    ) -> Reply:
        raise WorldError("the study's folder does not hold the answer to one of its questions")

    def close(self) -> None:
        """Nothing is in flight."""
