"""Retries and fallbacks, without any network or waiting."""

from __future__ import annotations

import pytest

from codegen.chat.litellm_errors import asked_pause_s
from codegen.chat.messages import Reply
from codegen.chat.retries import FIRST_PAUSE_S, LONGEST_PAUSE_S, REST_S, RequestError, Retries
from mcts.errors import InputError, ProposalRejected, WorldError


class Models:
    """Models that fail as told, and a clock that stands until it is moved."""

    def __init__(self, retries: int = 2, **faults: RequestError | None) -> None:
        self.faults = dict(faults)
        self.sent: list[str] = []
        self.pauses: list[float] = []
        self.now = 0.0
        self.calls = Retries(
            list(faults), retries=retries, sleep=self.pauses.append, clock=lambda: self.now
        )

    def ask(self) -> Reply:
        return self.calls.ask(self._send, who=str)

    def _send(self, model: str) -> Reply:
        self.sent.append(model)
        if fault := self.faults[model]:
            raise fault
        return Reply(text="fine", model=model, asked=model)


def transient() -> RequestError:
    return RequestError("transient", "it is busy")


def test_pauses_double_and_are_spread() -> None:
    models = Models(retries=9, a=transient())
    with pytest.raises(WorldError, match="a gave no answer in 10 attempts: it is busy"):
        models.ask()
    assert len(models.pauses) == 9
    for attempt, pause in enumerate(models.pauses):
        longest = min(FIRST_PAUSE_S * 2**attempt, LONGEST_PAUSE_S)
        assert longest / 2 <= pause <= longest
    again = Models(retries=9, a=transient())
    with pytest.raises(WorldError):
        again.ask()
    assert again.pauses != models.pauses


@pytest.mark.parametrize("kind", ["permanent", "configuration", "too_long", "refused"])
def test_only_transient_failures_are_retried(kind: str) -> None:
    models = Models(a=RequestError(kind, "no"))  # type: ignore[arg-type]
    with pytest.raises((WorldError, InputError, ProposalRejected)):
        models.ask()
    assert models.sent == ["a"] and models.pauses == []


def test_models_are_asked_in_their_order() -> None:
    models = Models(retries=1, a=transient(), b=RequestError("configuration", "no key"), c=None)
    reply = models.ask()
    assert (reply.asked, reply.attempts) == ("c", 4)
    assert models.sent == ["a", "a", "b", "c"]


def test_a_model_that_kept_failing_rests_and_is_asked_again_later() -> None:
    models = Models(retries=0, a=transient(), b=None)
    models.ask()
    models.faults["a"] = None
    assert models.ask().asked == "b"
    models.now += REST_S + 1
    assert models.ask().asked == "a"


def test_a_resting_model_is_asked_if_no_other_answers() -> None:
    models = Models(retries=0, a=transient(), b=None)
    models.ask()
    models.faults |= {"a": None, "b": transient()}
    assert models.ask().asked == "a"
    assert models.sent == ["a", "b", "b", "a"]


def test_a_misconfigured_model_is_asked_only_if_no_other_is_left() -> None:
    models = Models(a=RequestError("configuration", "no key"), b=None)
    for _ in range(3):
        models.ask()
    assert models.sent == ["a", "b", "b", "b"]
    models.faults["b"] = RequestError("configuration", "no such model")
    with pytest.raises(InputError, match="b no such model"):
        models.ask()
    models.faults["a"] = None
    assert models.ask().asked == "a", "the user may have mended it"


@pytest.mark.parametrize(
    ("kinds", "error"),
    [
        (("configuration", "configuration"), InputError),
        (("configuration", "transient"), WorldError),
        (("too_long", "configuration"), ProposalRejected),
        (("too_long", "permanent"), WorldError),
        (("transient", "refused"), ProposalRejected),
    ],
)
def test_the_error_of_several_models_is_the_one_that_waiting_may_mend(
    kinds: tuple[str, str], error: type[Exception]
) -> None:
    first, second = (RequestError(kind, f"is {kind}") for kind in kinds)  # type: ignore[arg-type]
    with pytest.raises(error, match=kinds[1]):
        Models(retries=0, a=first, b=second).ask()


def test_a_pause_may_be_asked_for_in_three_ways() -> None:
    assert asked_pause_s({"retry-after": "2.5"}) == 2.5
    assert asked_pause_s({"retry-after-ms": "250", "retry-after": "1"}) == 0.25
    date = {"retry-after": "Wed, 21 Oct 2026 07:28:10 GMT"}
    assert asked_pause_s(date, now_s=1792567680.0) == 10.0
    assert asked_pause_s(date, now_s=1792567700.0) == 0.0
    assert asked_pause_s({}) is None and asked_pause_s({"retry-after": "soon"}) is None
