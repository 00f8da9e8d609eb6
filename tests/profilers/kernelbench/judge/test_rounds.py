"""Which rounds a candidate is verified in, and in which order."""

from __future__ import annotations

from typing import Any, cast

import pytest

from mcts.domain import Policy
from mcts.domain.task import Tolerance
from mcts.options.policy import read_policy
from profilers.kernelbench.judge.rounds import VerificationRound, rounds_of
from profilers.kernelbench.judge.session import CandidateSession
from profilers.kernelbench.judge.settings import KernelBenchSettings
from profilers.kernelbench.judge.verdicts import VerificationTally
from profilers.kernelbench.judge.verifying import Verifier
from profilers.kernelbench.shared.variations import NEAR, PATTERNS, VALUES, beyond

VARIATIONS = (*NEAR, beyond(("large", "tied")))


def names(**given: bool) -> list[str]:
    asked = {"mutable_weights": True, "hidden_shapes": True} | given
    return [item.variation for item in rounds_of(variations=VARIATIONS, **asked)]


def test_weights_change_last() -> None:
    assert names() == ["given", "given", *VARIATIONS, "given", "given"]
    assert names(mutable_weights=False, hidden_shapes=False) == [
        "given", "given", "scaled", "signed", VARIATIONS[-1],
    ]  # fmt: skip
    assert names(beyond=False) == ["given", "given", *NEAR, "given", "given"]
    weights = [item.weights for item in rounds_of(
        mutable_weights=True, hidden_shapes=True, variations=VARIATIONS
    )]  # fmt: skip
    assert weights == ["same"] * (len(weights) - 2) + ["new", "partly new"]


def test_a_failure_there_is_named_as_such() -> None:
    item = VerificationRound(VARIATIONS[-1])
    assert item.label == "outside the drawn range only (rows large, tied)"
    assert VerificationRound("scaled").kinds == ()


@pytest.mark.parametrize(
    ("variation", "conditioned", "alike"),
    [
        ("given", False, False),
        ("scaled", False, False),
        (beyond(VALUES), True, False),
        (beyond(PATTERNS), True, True),
        (beyond(("sorted",)), True, True),
        (beyond(("sparse",)), True, False),
    ],
)
def test_what_is_expected_depends_on_the_rows(
    variation: str, conditioned: bool, alike: bool
) -> None:
    expecting = VerificationRound(variation).expecting
    assert expecting == {"conditioned": conditioned, "alike": alike}


def test_a_policy_of_before_is_one_of_drawn_inputs() -> None:
    assert Policy().inputs == "sound"
    whole = Policy().model_dump()
    assert Policy.model_validate(whole) == Policy()
    del whole["inputs"]
    assert Policy.model_validate(whole).inputs == "drawn"
    given = [f"{name}={value}" for name, value in whole.items()]
    read = read_policy(given)
    assert isinstance(read, Policy) and read.inputs == "sound"


class OneDraw:
    """A session whose oracle answers, one after the other, whether a changed row shows."""

    def __init__(self, *shows: bool | None) -> None:
        self.settings = KernelBenchSettings()
        self.tolerance = Tolerance(relative=1e-2, absolute=1e-3)
        self.tally = VerificationTally(error_factor=64.0)
        self.oracle = self
        self.strengths: list[float] = []
        self.asked: list[dict[str, Any]] = []
        self._shows = list(shows)

    def renew(self, *, part: bool, strength: float) -> None:
        assert part
        self.strengths.append(strength)

    def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        assert op == "expect"
        self.asked.append(fields)
        return {"stale_differs": self._shows[len(self.asked) - 1]}


@pytest.mark.parametrize(
    ("shows", "strengths"),
    [
        ([True], [0.5]),
        ([None], [0.5]),
        ([False, False, True], [0.5, 0.5, 1.0]),
        ([False] * 5, [0.5, 0.5, 1.0, 2.0, 4.0]),
    ],
)
def test_a_row_of_the_weights_changes_until_that_shows(
    shows: list[bool | None], strengths: list[float]
) -> None:
    session = OneDraw(*shows, *shows)
    verifier = Verifier(cast(CandidateSession, session))
    for _ in range(2):
        assert verifier._renew_part("draw")["stale_differs"] is shows[-1]
    assert session.strengths == [*strengths, *strengths]
    assert session.asked[0] == {
        "id": "draw", "stale": {"tolerance": [1e-2, 1e-3], "error_ratio": 128.0}
    }  # fmt: skip
    assert len(session.tally.notes) == int(shows[-1] is False)
