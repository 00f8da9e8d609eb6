"""What each method is worth: taken out by tunable or by the proposer, weighed once, proven."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from experiments.views.report.account import account_rows
from mcts.attribution.ablation import AblatedVariant, ablated_by_tunable, attribute
from mcts.attribution.attributor import Attributor
from mcts.domain import (
    CUDA,
    Attribution,
    Candidate,
    Evaluation,
    KernelTask,
    Profile,
    StateSignature,
    Tunable,
    TunableSpace,
)
from mcts.errors import InputError, WorldError
from mcts.journal.record import Result
from mcts.loop.optimizer import Budget, read_result
from mcts.testing.toy import VALUES, Killed, MemoryJournal, ToyEvaluator, toy_task
from tests.mcts.journal.paid import (
    CENTS,
    TOKENS,
    Broken,
    PaidToy,
    Rewriter,
    UnsteadyBaseline,
    attributor,
    best_path,
    optimizer,
    usage,
    variant,
)
from tests.support.evaluations import measured

METHODS = {"BLOCK": ("toy.block",), "TILE": ("toy.tile", "toy.reuse"), "UNROLL": ("toy.unroll",)}
SPACE = TunableSpace(
    tunables={
        name: Tunable(values=VALUES, default=1, methods=methods)
        for name, methods in METHODS.items()
    }
)
TASK = toy_task().model_copy(update={"space": SPACE})


def worth(whole: Evaluation, without: Evaluation, seen: bool | None = None) -> Attribution:
    taken = AblatedVariant(candidate=variant())
    return attribute("toy.tile", whole=whole, without=without, variant=taken, seen=seen, noise=0.02)


@pytest.mark.parametrize(
    ("without", "seen", "expected"),
    [
        (1.0, None, "effective"),
        (1.0, True, "effective"),
        (1.99, True, "ineffective"),
        (2.5, True, "harmful"),
        (2.01, True, "ineffective"),
        (1.0, False, "implementation_failed"),
        (2.5, False, "implementation_failed"),
    ],
)
def test_a_methods_worth_follows_from_its_gain_and_the_machine_code(
    without: float, seen: bool | None, expected: str
) -> None:
    found = worth(measured(2.0), measured(without), seen)
    assert found.worth == expected and found.realised is seen
    assert found.gain == pytest.approx(2.0 / without - 1)
    assert found.gain_low is not None and found.gain_high is not None
    assert found.gain_low < found.gain < found.gain_high  # type: ignore[operator]


def test_a_gain_inside_the_noise_or_its_own_interval_is_none() -> None:
    assert worth(measured(2.0, spread=0.1), measured(1.9, spread=0.1)).worth == "ineffective"
    assert worth(measured(2.0, spread=0.001), measured(1.97, spread=0.001)).worth == "ineffective"
    assert worth(measured(2.0, spread=0.001), measured(1.95, spread=0.001)).worth == "effective"


def test_a_variant_that_fails_says_nothing_of_the_gain() -> None:
    failed = Evaluation(candidate_id="y", status="compile_failed", message="no such type")
    assert worth(measured(2.0), failed).worth == "unknown"
    assert "compile_failed" in worth(measured(2.0), failed).note
    assert worth(measured(2.0), failed, False).worth == "implementation_failed"


@pytest.mark.parametrize(
    "wrong",
    [
        {"worth": "effective"},
        {"worth": "unknown"},
        {"worth": "implementation_failed", "realised": True, "note": "x"},
        {"worth": "ineffective", "gain": 0.1},
        {"worth": "ineffective", "gain": 0.1, "gain_low": 0.2, "gain_high": 0.3},
    ],
)
def test_an_attribution_that_contradicts_itself_cannot_be_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Attribution(candidate_id="c", method="m", **wrong)


def test_a_lesson_is_the_methods_own_gain_with_its_proof() -> None:
    state = StateSignature(bound="memory")
    helped = worth(measured(2.0), measured(1.0), True).lesson(state, noise=0.02)
    assert helped is not None and helped.outcome == "improved" and helped.realised is True
    assert helped.gain == pytest.approx(2.0) and helped.state == state
    hurt = worth(measured(1.0), measured(2.0)).lesson(state, noise=0.02)
    assert hurt is not None and hurt.outcome == "regressed"
    nothing = worth(measured(1.0), measured(1.0)).lesson(state, noise=0.02)
    assert nothing is not None and nothing.outcome == "neutral"
    assert (
        Attribution(candidate_id="c", method="m", worth="unknown", note="x").lesson(
            state, noise=0.02
        )
        is None
    )


def claims(*methods: str, **tunables: int) -> Candidate:
    return variant(**tunables).model_copy(update={"methods": methods})


def test_a_tunable_goes_back_to_the_parents_value_else_to_the_baselines() -> None:
    child = claims("toy.tile", "toy.block", "toy.reuse", TILE=8, BLOCK=4)
    found = ablated_by_tunable(TASK, child, variant(TILE=2, BLOCK=4), "toy.tile")
    assert found is not None and found.tunables == ("TILE",)
    assert found.candidate.tunables == {"TILE": 2, "BLOCK": 4, "UNROLL": 1}
    assert found.candidate.methods == ("toy.block", "toy.reuse")
    assert found.note == "moving TILE also touches toy.reuse"
    found = ablated_by_tunable(TASK, child, variant(TILE=2, BLOCK=4), "toy.block")
    assert found is not None and found.candidate.tunables["BLOCK"] == 1
    assert ablated_by_tunable(TASK, claims("toy.unroll"), variant(), "toy.unroll") is None
    assert ablated_by_tunable(TASK, child, variant(), "fusion") is None


def test_a_forbidden_combination_is_no_variant() -> None:
    space = SPACE.model_copy(update={"where": ("BLOCK * TILE >= 8",)})
    task = TASK.model_copy(update={"space": space})
    child = claims("toy.tile", TILE=8)
    assert ablated_by_tunable(task, child, variant(), "toy.tile") is None


def test_the_plan_of_a_cuda_source_names_the_methods() -> None:
    source = """/* rooftree
[tunables]
VEC = { values = [1, 2, 4], default = 1, methods = ["memory.vectorized_loads"] }
[[launch]]
kernel = "k"
grid = [1]
block = [1]
*/"""
    task = KernelTask.model_construct(
        dialect=CUDA, baseline=Candidate(source="other"), workloads=TASK.workloads
    )
    child = Candidate(source=source, tunables={"VEC": 4}, methods=("memory.vectorized_loads",))
    parent = Candidate(source="other")
    found = ablated_by_tunable(task, child, parent, "memory.vectorized_loads")
    assert found is not None and found.candidate.tunables == {"VEC": 1}
    unplanned = child.model_copy(update={"source": "no plan"})
    assert ablated_by_tunable(task, unplanned, parent, "memory.vectorized_loads") is None


# The whole of it, over a run.


def searched(journal: MemoryJournal) -> Result:
    return optimizer(journal, PaidToy(), evaluations=40).run()


def test_over_an_unsteady_baseline_a_gain_is_that_of_own_times() -> None:
    journal, toy, rewriter = MemoryJournal(), UnsteadyBaseline(), Rewriter()
    result = optimizer(journal, PaidToy(), toy, evaluations=40).run()
    found = best_path(attributor(journal, evaluator=toy, ablator=rewriter), result)
    times = {
        event.payload["candidate_id"]: event.payload["evaluation"]["timing"]["median_us"]
        for event in journal.events()
        if event.kind == "measured" and event.payload["evaluation"]["timing"]
    }
    weighed = [one for one in found if one.gain is not None]
    assert weighed
    for one in weighed:
        assert one.without is not None
        assert one.gain == pytest.approx(times[one.without] / times[one.candidate_id] - 1)
    assert rewriter.requests
    for request in rewriter.requests:
        timing = request.evaluation.timing
        assert timing is not None
        assert timing.speedup == pytest.approx(times[toy.task.baseline.id] / timing.median_us)


def test_every_method_on_the_best_path_is_attributed_once() -> None:
    journal, rewriter, toy = MemoryJournal(), Rewriter(), ToyEvaluator()
    result = searched(journal)
    found = best_path(attributor(journal, ablator=rewriter, evaluator=toy), result)
    claimed = [m for n in result.path_to(result.best) if n.candidate for m in n.candidate.methods]
    assert [attribution.method for attribution in found] == claimed and claimed
    assert all(attribution.worth == "effective" for attribution in found[:1])
    after = read_result(journal.events())
    shown = [a for n in after.path_to(after.best) for a in n.attributions]
    assert shown == list(found) and after.tree_digest == result.tree_digest
    assert after.unique == result.unique and after.best.id == result.best.id
    assert after.spending.replies == result.spending.replies + len(rewriter.asked)
    idle = Rewriter()
    again = best_path(attributor(journal, ablator=idle, evaluator=ToyEvaluator()), after)
    assert again == found and idle.asked == []
    assert rewriter.can_ablate


def test_a_method_with_a_tunable_is_taken_out_without_asking_a_model() -> None:
    journal, rewriter = MemoryJournal(), Rewriter()
    result = searched(journal)
    plain = Attributor(task=TASK, evaluator=ToyEvaluator(), journal=journal, ablator=rewriter)
    found = best_path(plain, result)
    assert found and rewriter.asked == [] and all(a.tunables for a in found)


def test_machine_code_has_the_last_word() -> None:
    journal = MemoryJournal()
    result = searched(journal)
    method = next(m for n in result.path_to(result.best)[1:] for m in n.candidate.methods)  # type: ignore[union-attr]

    def never(profile: Profile) -> bool | None:
        return False

    found = best_path(attributor(journal, signatures={method: never}), result)
    assert {a.worth for a in found if a.method == method} == {"implementation_failed"}
    assert all(a.realised is None for a in found if a.method != method)


def test_a_method_that_cannot_be_taken_out_is_unknown_and_says_why() -> None:
    journal = MemoryJournal()
    result = searched(journal)
    method = next(m for n in result.path_to(result.best)[1:] for m in n.candidate.methods)  # type: ignore[union-attr]
    found = best_path(attributor(journal, ablator=Rewriter(fails=method)), result)
    failed = [a for a in found if a.method == method]
    assert failed and all(a.worth == "unknown" for a in failed)
    assert "I would not know how" in failed[0].note
    other = MemoryJournal(tuple(e for e in journal.events() if e.kind != "attributed")[:-1])
    alone = attributor(MemoryJournal(tuple(other.events())), ablator=None)
    assert any("nobody here rewrites code" in a.note for a in alone.nodes(result, result.nodes))


def test_a_spent_budget_stops_attribution_and_a_larger_one_resumes_it() -> None:
    journal = MemoryJournal()
    result = searched(journal)
    spent = result.spending.cost_usd
    rewriter = Rewriter()
    budget = Budget(evaluations=40, cost_usd=spent + 0.0001)
    some = attributor(journal, ablator=rewriter, budget=budget).nodes(result, result.nodes)
    assert len(rewriter.asked) == 1 and len(some) == 1
    rest = attributor(journal, ablator=rewriter).nodes(result, result.nodes)
    assert rest[0] == some[0] and len(rest) > 1
    resumed = optimizer(journal, PaidToy(), evaluations=60, caps={"cost_usd": spent + 0.0001})
    assert resumed.run().evaluations == 40, "what attribution spent counts too"


def test_attribution_killed_anywhere_asks_and_measures_nothing_twice() -> None:
    whole = MemoryJournal()
    result = searched(whole)
    start = tuple(whole.events())
    expected = best_path(attributor(whole), result)
    for kill_after in range(len(list(whole.events())) - len(start)):
        journal = MemoryJournal(start, kill_after=kill_after)
        with pytest.raises(Killed):
            best_path(attributor(journal), result)
        journal = MemoryJournal(tuple(journal.events()))
        assert best_path(attributor(journal), read_result(journal.events())) == expected
        for kind, key in (("measured", "candidate_id"), ("removed", "key"), ("attributed", "key")):
            seen = Counter(e.payload[key] for e in journal.events() if e.kind == kind)
            assert max(seen.values(), default=1) == 1


@pytest.mark.parametrize("error", [WorldError, InputError])
def test_an_ablation_that_ended_in_an_error_has_been_paid_and_is_asked_anew(
    error: type[WorldError | InputError],
) -> None:
    whole = MemoryJournal()
    expected = best_path(attributor(whole), searched(whole))
    journal = MemoryJournal()
    result = searched(journal)
    ablator = Broken(*(error("cut off", usage=usage()) for _ in range(2)))
    for failures in (1, 2):
        with pytest.raises(error, match="cut off"):
            best_path(attributor(journal, ablator=ablator), result)
        spent = read_result(journal.events()).spending
        assert spent.replies == result.spending.replies + failures
        assert spent.tokens == result.spending.tokens + failures * TOKENS
        assert spent.cost == result.spending.cost + failures * Decimal(str(CENTS))
    found = best_path(attributor(journal, ablator=ablator), read_result(journal.events()))
    assert found == expected
    after, ideal = read_result(journal.events()), read_result(whole.events())
    assert after.spending.cost == ideal.spending.cost + 2 * Decimal(str(CENTS))
    besides, before = (Decimal(account_rows(each)[-2]["cost_usd"]) for each in (after, ideal))
    assert besides == before + 2 * Decimal(str(CENTS)), "shown beside what led to no node"
    idle = Broken()
    assert best_path(attributor(journal, ablator=idle), after) == expected and idle.asked == []


def test_what_a_failed_ablation_cost_counts_for_the_cap() -> None:
    journal = MemoryJournal()
    result = searched(journal)
    cap = result.spending.cost_usd + CENTS / 2
    budget = Budget(evaluations=40, cost_usd=cap)
    ablator = Broken(WorldError("cut off", usage=usage()))
    with pytest.raises(WorldError):
        best_path(attributor(journal, ablator=ablator, budget=budget), result)
    after = read_result(journal.events())
    assert best_path(attributor(journal, ablator=ablator, budget=budget), after) == ()
    assert ablator.asked == []
    resumed = optimizer(journal, PaidToy(), evaluations=60, caps={"cost_usd": cap})
    assert resumed.run().evaluations == 40


def test_an_ablation_that_failed_before_any_reply_leaves_no_trace() -> None:
    journal = MemoryJournal()
    result = searched(journal)
    with pytest.raises(WorldError):
        best_path(attributor(journal, ablator=Broken(WorldError("gone"))), result)
    assert "removed" not in [event.kind for event in journal.events()]
    assert read_result(journal.events()).spending == result.spending
