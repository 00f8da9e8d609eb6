"""What the report says of tunables: which of them the time depends on."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.views.report.tunables import FEWEST, explained, tunables_of
from tests.support.large_run import large_result


def test_a_value_that_decides_alone_explains_everything() -> None:
    logs = np.log([1.0, 1.0, 4.0, 4.0])
    assert explained(logs, [0, 0, 1, 1]) == pytest.approx(1.0)


def test_omega_squared_by_hand() -> None:
    # Groups (1, 2, 3) and (3, 4, 5): between 6, within 4 over 4 degrees, so (6 - 1) / (10 + 1).
    logs = np.array([1.0, 2.0, 3.0, 3.0, 4.0, 5.0])
    assert explained(logs, [0, 0, 0, 1, 1, 1]) == pytest.approx(5 / 11)


def test_groups_of_noise_explain_next_to_nothing_however_many_they_are() -> None:
    draw = np.random.default_rng(7)
    shares = [explained(draw.normal(size=60), draw.integers(0, 20, 60).tolist()) for _ in range(50)]
    assert np.mean(shares) < 0.1


@pytest.mark.parametrize("groups", [[0, 0, 0], [0, 1, 2]])
def test_one_group_or_one_variant_a_group_explains_nothing(groups: list[int]) -> None:
    assert explained(np.array([0.0, 1.0, 2.0]), groups) == 0.0


def test_tunables_are_of_measured_variants_the_most_telling_first() -> None:
    found = tunables_of(large_result(300, sources=1))
    assert found is not None
    shares = [each["share"] for each in found["tunables"]]
    assert shares == sorted(shares, reverse=True)
    for each in found["tunables"]:
        assert len(each["at"]) == len(found["nodes"]) == len(found["speedup"]) >= FEWEST
        assert set(each["at"]) == set(range(len(each["values"])))


def test_a_few_variants_say_nothing_of_tunables() -> None:
    assert tunables_of(large_result(5)) is None
