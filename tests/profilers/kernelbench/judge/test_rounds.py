"""Which rounds a candidate is verified in, and in which order."""

from __future__ import annotations

from mcts.domain import Policy
from mcts.options.policy import read_policy
from profilers.kernelbench.judge.verifying import VerificationRound, rounds_of
from profilers.kernelbench.shared.variations import NEAR, beyond

VARIATIONS = (*NEAR, beyond(("large", "tied")))


def names(**given: bool) -> list[str]:
    asked = {"mutable_weights": True, "hidden_shapes": True} | given
    return [item.variation for item in rounds_of(variations=VARIATIONS, **asked)]


def test_what_lies_beyond_the_drawn_range_comes_last() -> None:
    assert names() == ["given"] * 4 + list(VARIATIONS)
    assert names(mutable_weights=False, hidden_shapes=False) == [
        "given", "given", "scaled", "signed", VARIATIONS[-1],
    ]  # fmt: skip
    assert names(beyond=False) == ["given"] * 4 + list(NEAR)


def test_a_failure_there_is_named_as_such() -> None:
    item = VerificationRound(VARIATIONS[-1])
    assert item.label == "outside the drawn range only (rows large, tied)"
    assert VerificationRound("scaled").kinds == ()


def test_a_policy_of_before_is_one_of_drawn_inputs() -> None:
    assert Policy().inputs == "sound"
    whole = Policy().model_dump()
    assert Policy.model_validate(whole) == Policy()
    del whole["inputs"]
    assert Policy.model_validate(whole).inputs == "drawn"
    given = [f"{name}={value}" for name, value in whole.items()]
    read = read_policy(given)
    assert isinstance(read, Policy) and read.inputs == "sound"
