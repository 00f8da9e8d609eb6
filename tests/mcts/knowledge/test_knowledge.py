"""The knowledge base: what it expects, from how far it borrows, and what is no evidence."""

from __future__ import annotations

import math
import pickle
import random
from itertools import count
from statistics import fmean, stdev
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts.domain import StateSignature
from mcts.knowledge.base import ANY, Knowledge
from mcts.knowledge.belief import Belief, Sampling, sampled, weighted_choice
from mcts.knowledge.contribution import Contribution, newest
from mcts.knowledge.evidence import FAILURE_GAIN, SAME_TASK_CORRELATION, evidence_of
from mcts.knowledge.moves import Act

DRAM = StateSignature(
    bound="memory", level="DRAM", arithmetic="fp32", secondary="coalescing", stall="long_scoreboard"
)
L1 = DRAM.model_copy(update={"level": "L1"})
COMPUTE = StateSignature(bound="compute")
WIDE, TILE = Act("memory.vectorized_loads"), Act("memory.shared_tiling")
_nodes = count(1)


def seen(
    gain: float | None,
    act: Act = WIDE,
    state: StateSignature = DRAM,
    *,
    task: str = "one",
    run: str = "run",
    node: int | None = None,
    realised: bool | None = None,
    among: int = 1,
    predicted: float | None = None,
) -> Contribution:
    outcome = "failed" if gain is None else "improved" if gain > 1 else "regressed"
    return Contribution(
        run=run, node=next(_nodes) if node is None else node, task=task, gpu="H200", proposer="p",
        state=state, method=act.method, undone=act.undone, among=among, outcome=outcome, gain=gain,
        predicted=predicted, realised=realised,
    )  # fmt: skip


def mean(knowledge: Knowledge, act: Act = WIDE, state: StateSignature = DRAM) -> float:
    return knowledge.expect(state)[act].belief.mean


# Beliefs.


def test_the_posterior_is_the_textbook_one() -> None:
    """Gelman et al., section 3.3, by hand: prior 0 worth 1, three log gains of 0.3."""
    after = Belief(0.0, 1.0, 4.0, 0.09).after(3.0, 0.3, 0.0)
    assert after.mean == pytest.approx(3 * 0.3 / 4)
    assert (after.strength, after.freedom) == (4.0, 7.0)
    assert after.variance == pytest.approx((4 * 0.09 + 1 * 3 / 4 * 0.3**2) / 7)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=12))
def test_observations_one_by_one_come_to_the_same_as_all_at_once(gains: list[float]) -> None:
    step = Belief()
    for gain in gains:
        step = step.after(1.0, gain, 0.0)
    middle = fmean(gains)
    whole = Belief().after(len(gains), middle, sum((gain - middle) ** 2 for gain in gains))
    assert step.mean == pytest.approx(whole.mean, abs=1e-9)
    assert step.variance == pytest.approx(whole.variance, abs=1e-9)


def test_draws_spread_as_wide_as_the_belief_is_unsure() -> None:
    rng = random.Random(1)
    sure, unsure = Belief(0.2, 400.0, 400.0, 0.09), Belief(0.2, 2.0, 30.0, 0.09)
    for belief in (sure, unsure):
        drawn = [belief.draw(rng) for _ in range(4000)]
        of_mean = math.sqrt(
            belief.variance / belief.strength * belief.freedom / (belief.freedom - 2)
        )
        assert fmean(drawn) == pytest.approx(0.2, abs=4 * of_mean / math.sqrt(4000))
        assert stdev(drawn) == pytest.approx(of_mean, rel=0.1)


def test_a_weakened_belief_keeps_its_mean_and_gives_way_sooner() -> None:
    strong = Belief().after(100.0, 0.5, 1.0)
    weak = strong.weakened(4.0)
    assert weak.mean == strong.mean and weak.strength == 4.0
    assert weak.after(4.0, -0.5, 0.0).mean == pytest.approx((strong.mean - 0.5) / 2)


# What is expected where.


def test_nothing_is_expected_before_anything_was_seen() -> None:
    assert not Knowledge()
    assert not Knowledge().expect(DRAM)


def test_a_state_seen_before_is_believed_more_than_one_like_it_and_that_more_than_any() -> None:
    knowledge = Knowledge.of(
        [*(seen(1.6, state=DRAM, task=f"t{n}") for n in range(12)),
         *(seen(1.1, state=L1, task=f"t{n}") for n in range(12)),
         *(seen(0.7, state=COMPUTE, task=f"t{n}") for n in range(12))]
    )  # fmt: skip
    l2, waiting = DRAM.model_copy(update={"level": "L2"}), StateSignature(bound="latency")
    states = (DRAM, l2, L1, waiting, COMPUTE)
    means = [mean(knowledge, state=state) for state in (DRAM, l2, L1, COMPUTE)]
    assert means == sorted(means, reverse=True) and len(set(means)) == 4
    for state, gain in ((DRAM, 1.6), (L1, 1.1), (COMPUTE, 0.7)):
        assert mean(knowledge, state=state) == pytest.approx(math.log(gain), abs=0.2)
    assert [knowledge.expect(state)[WIDE].closeness for state in states] == [3, 1, 3, 0, 3]


def test_a_method_never_seen_is_expected_to_do_as_others_did() -> None:
    knowledge = Knowledge.of(
        [*(seen(1.4, task=f"t{n}") for n in range(6)),
         *(seen(0.5, Act(WIDE.method, True), task=f"t{n}") for n in range(6))]
    )  # fmt: skip
    assert Act("memory.unheard_of") not in knowledge.expect(DRAM)
    assert mean(knowledge, Act(ANY)) > 0.1 > -0.1 > mean(knowledge, Act(ANY, True))


def test_to_apply_a_method_and_to_take_it_back_are_told_apart() -> None:
    knowledge = Knowledge.of([seen(1.5), seen(0.6, Act(WIDE.method, undone=True))])
    assert mean(knowledge) > 0 > mean(knowledge, Act(WIDE.method, undone=True))


def test_a_task_repeated_a_thousand_times_does_not_outweigh_nine_others() -> None:
    loud = [seen(2.0, task="loud") for _ in range(1000)]
    others = [seen(0.7, task=f"t{n}") for n in range(9) for _ in range(5)]
    knowledge = Knowledge.of([*loud, *others])
    assert mean(knowledge) < 0
    (sums,) = Knowledge.of(loud).sums.values()
    assert sums.discounted().count < 1 / SAME_TASK_CORRELATION
    assert sums.tried == 1000


def test_an_unrealised_method_is_counted_but_is_no_evidence() -> None:
    known = Knowledge.of([seen(1.5, node=1), seen(0.5, node=2, realised=False)])
    assert mean(known) == mean(Knowledge.of([seen(1.5, node=1)]))
    evidence = known.expect(DRAM)[WIDE].evidence
    assert (evidence.tried, evidence.unrealised) == (2, 1)


def test_failures_are_kept_and_count_against_a_method() -> None:
    knowledge = Knowledge.of([seen(None) for _ in range(5)])
    assert mean(knowledge) < 0
    assert evidence_of(seen(None)).total == pytest.approx(math.log(FAILURE_GAIN))
    assert knowledge.expect(DRAM)[WIDE].evidence.failed == 5


def test_a_gain_shared_by_several_methods_says_less_of_each() -> None:
    assert mean(Knowledge.of([seen(1.5, among=4)])) < mean(Knowledge.of([seen(1.5)]))


def test_predictions_are_compared_with_measurements() -> None:
    knowledge = Knowledge.of([seen(1.1, predicted=1.5), seen(None, predicted=1.5), seen(1.2)])
    evidence = knowledge.expect(DRAM)[WIDE].evidence
    assert evidence.predictions == 1
    assert math.exp(evidence.predicted) == pytest.approx(1.5)
    assert math.exp(evidence.found) == pytest.approx(1.1)


def test_one_task_can_be_left_out() -> None:
    contributions = [seen(1.5, task="one"), seen(0.5, task="two")]
    without = Knowledge.of(contributions, besides="two")
    assert without.sums == Knowledge.of(contributions).besides("two").sums
    assert {key.task for key in without.sums} == {"one"}
    assert Knowledge.of(contributions, besides="three").sums == Knowledge.of(contributions).sums


def test_knowledge_goes_to_other_processes_as_it_is() -> None:
    knowledge = Knowledge.of([seen(1.5), seen(0.5, TILE, L1)])
    assert pickle.loads(pickle.dumps(knowledge)).expect(DRAM) == knowledge.expect(DRAM)


# Contributions and their merging.


def test_the_same_content_has_the_same_id_and_other_content_another() -> None:
    assert seen(1.5, node=1).id == seen(1.5, node=1).id != seen(1.4, node=1).id


def test_the_more_specific_contribution_of_an_event_counts() -> None:
    vague, sharp = seen(2.0, node=1, among=3), seen(1.2, node=1, realised=True)
    assert newest([vague, sharp]) == newest([sharp, vague, sharp]) == [sharp]


contributions = st.builds(
    seen,
    st.one_of(st.none(), st.floats(0.1, 10)),
    st.builds(Act, st.sampled_from(["a", "b"]), st.booleans()),
    st.sampled_from([DRAM, L1, COMPUTE]),
    task=st.sampled_from(["one", "two", "three"]),
    run=st.sampled_from(["r", "s"]),
    node=st.integers(1, 5),
    realised=st.sampled_from([None, True, False]),
    among=st.integers(1, 3),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(contributions, max_size=30), st.randoms(use_true_random=False))
def test_knowledge_depends_on_neither_order_nor_repetition(
    found: list[Contribution], rng: random.Random
) -> None:
    shuffled = [*found, *rng.choices(found, k=5)] if found else []
    rng.shuffle(shuffled)
    assert Knowledge.of(shuffled).sums == Knowledge.of(found).sums
    assert Knowledge.of(shuffled).expect(DRAM) == Knowledge.of(found).expect(DRAM)


@settings(max_examples=60, deadline=None)
@given(st.lists(contributions, max_size=12), st.lists(contributions, max_size=12),
       st.lists(contributions, max_size=12))  # fmt: skip
def test_merging_is_commutative_associative_and_idempotent(
    a: list[Contribution], b: list[Contribution], c: list[Contribution]
) -> None:
    assert newest([*a, *b]) == newest([*b, *a])
    assert newest([*newest([*a, *b]), *c]) == newest([*a, *newest([*b, *c])])
    assert newest([*a, *a]) == newest(a) == newest(newest(a))


# Sampling.

BELIEFS = {Act(f"m{n}"): Belief(n / 10, 5.0 + n, 6.0, 0.09) for n in range(-3, 7)}


@pytest.mark.parametrize("how", get_args(Sampling))
def test_a_draw_repeats_with_its_seed_in_whatever_order_beliefs_come(how: str) -> None:
    backwards = dict(reversed(BELIEFS.items()))
    one = sampled(BELIEFS, random.Random(5), how=how)  # type: ignore[arg-type]
    assert one == sampled(backwards, random.Random(5), how=how)  # type: ignore[arg-type]


def test_thompson_draws_favour_the_best_and_try_the_others() -> None:
    winners = []
    for seed in range(400):
        drawn = sampled(BELIEFS, random.Random(seed))
        winners.append(max(drawn, key=lambda act: drawn[act]))
    assert len(set(winners)) > 3
    assert winners.count(Act("m6")) > winners.count(Act("m0"))


def test_the_top_are_chosen_by_weighted_chance() -> None:
    for seed in range(50):
        drawn = sampled(BELIEFS, random.Random(seed), how="top_k", top=3)
        assert sum(value > 0 for value in drawn.values()) <= 3
        assert drawn[Act("m-3")] == pytest.approx(-0.3)
    weights = {Act("often"): 9.0, Act("rarely"): 1.0}
    first = [weighted_choice(weights, random.Random(seed), 1)[0] for seed in range(1000)]
    assert 0.86 < first.count(Act("often")) / 1000 < 0.94
