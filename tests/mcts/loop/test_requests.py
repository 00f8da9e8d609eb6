"""What a proposer is told: earlier siblings, exemplars, the parent's profile, another approach."""

from __future__ import annotations

import itertools

import pytest

from mcts.domain import Candidate, Evaluation, KernelProfile, Profile, SassFacts
from mcts.ports import ProposalRequest
from mcts.search.puct import PuctSettings
from mcts.testing.toy import Killed, MemoryJournal, ToyEvaluator
from tests.mcts.journal.paid import PaidToy, UnsteadyBaseline, optimizer


class Profiling(ToyEvaluator):
    """Its machine code unrolls where the tunable says so."""

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        sass = SassFacts(instructions=10 * int(candidate.tunables["UNROLL"]))
        return Profile(kernels=(KernelProfile(name="toy", sass=sass),))


def requests(
    journal: MemoryJournal | None = None,
    *,
    evaluations: int = 60,
    inline: bool = True,
    **options: object,
) -> list[ProposalRequest]:
    toy = PaidToy(rejects=6)
    toy.inline = inline
    optimizer(
        journal or MemoryJournal(),
        toy,
        Profiling(),
        evaluations=evaluations,
        **options,  # type: ignore[arg-type]
    ).run()
    return toy.asked


def test_siblings_are_the_parents_earlier_children_with_what_came_of_them() -> None:
    journal = MemoryJournal()
    asked = requests(journal)
    told = [event.payload for event in journal.events() if event.kind == "told"]
    trials = [event.payload for event in journal.events() if event.kind == "asked"]
    assert len(asked) == len(trials)
    for request, trial in zip(asked, trials, strict=True):
        earlier = [
            line
            for line in told
            if line["parent"] == trial["parent"] and line["trial"] < trial["trial"]
        ]
        assert [a.candidate.id if a.candidate else None for a in request.siblings] == [
            line["candidate_id"] for line in earlier
        ]
        for attempt in request.siblings:
            assert attempt.evaluation is not None or attempt.reason
    rejected = [a for request in asked for a in request.siblings if a.candidate is None]
    assert rejected and all(a.reason == "the reply holds no code" for a in rejected)


def test_exemplars_are_other_variants_than_the_parent_and_its_children() -> None:
    asked = requests()
    assert any(len(request.exemplars) == 2 for request in asked)
    for request in asked:
        shown = {request.parent.id} | {a.candidate.id for a in request.siblings if a.candidate}
        speeds = []
        for exemplar in request.exemplars:
            assert exemplar.candidate is not None and exemplar.candidate.id not in shown
            assert exemplar.evaluation is not None and exemplar.evaluation.speedup is not None
            speeds.append(exemplar.evaluation.speedup)
        assert speeds == sorted(set(speeds), reverse=True)


def test_the_parents_profile_is_there_also_after_a_resume() -> None:
    journal = MemoryJournal()
    requests(journal, evaluations=20)
    for asked in (requests(), requests(journal)):
        assert asked
        for request in asked:
            if request.move.kind == "repair":
                assert request.profile is None, "what failed was not profiled"
                continue
            assert request.profile is not None and request.profile.kernels[0].sass is not None
            unroll = int(request.parent.tunables["UNROLL"])
            assert request.profile.kernels[0].sass.instructions == 10 * unroll


def test_a_resumed_run_is_told_the_same() -> None:
    whole = requests()
    journal = MemoryJournal()
    first = requests(journal, evaluations=25)
    again = requests(journal)
    assert [*first, *again] == whole


def test_trials_side_by_side_are_told_of_each_other() -> None:
    asked = {request.seed: request for request in requests(parallel=3, inline=False)}
    trials = sorted(asked.values(), key=lambda request: len(request.tried))
    first = [request for request in trials if not request.history[1:] and not request.siblings]
    assert sorted(len(request.pending) for request in first) == [0, 1, 2]
    assert sorted(request.choice for request in first) == [1, 2, 3]
    for request in asked.values():
        same = [o.choice for o in request.pending if o.parent.id == request.parent.id]
        assert request.choice not in same and len(set(same)) == len(same)
    assert all(request.pending == () and request.choice == 1 for request in requests())


@pytest.mark.parametrize("kill_after", [9, 10, 12, 40, 77])
def test_a_killed_parallel_run_is_told_the_same_when_resumed(kill_after: int) -> None:
    """Whatever was in flight when a trial was first asked is found again."""
    whole = {request.seed: request for request in requests(parallel=3, inline=False)}
    journal, toy = MemoryJournal(kill_after=kill_after), PaidToy(rejects=6)
    toy.inline = False
    with pytest.raises(Killed):
        optimizer(journal, toy, Profiling(), evaluations=60, parallel=3).run()
    alive = MemoryJournal(tuple(journal.events()))
    again = requests(alive, parallel=3, inline=False)
    assert again and all(whole[request.seed] == request for request in again)


def test_a_stagnating_node_is_asked_for_another_approach_in_turn() -> None:
    constants = PuctSettings(stagnation=2, expected_improvement=False)
    kinds: dict[str, list[tuple[int, str]]] = {}
    for request in requests(search_settings=constants, evaluations=100):
        line = (len(request.siblings), request.move.kind)
        if request.move.kind != "repair":
            kinds.setdefault(request.parent.id, []).append(line)
    assert any(kind == "diversify" for line in kinds.values() for _, kind in line)
    for line in kinds.values():
        assert all(kind == "improve" for at, kind in line if at < 2)
        words = [kind for _, kind in line]
        assert ("diversify", "diversify") not in set(itertools.pairwise(words))


def test_lessons_of_a_profiled_node_say_whether_its_methods_were_realised() -> None:
    def unrolled(profile: Profile) -> bool | None:
        sass = profile.kernels[0].sass
        return None if sass is None else sass.instructions > 10

    asked = requests(signatures={"toy.unroll": unrolled, "toy.tile": lambda _: None})
    lessons = [lesson for request in asked for lesson in request.lessons]
    assert any(lesson.realised for lesson in lessons if lesson.method == "toy.unroll")
    assert all(lesson.realised is None for lesson in lessons if lesson.method != "toy.unroll")
    assert all(
        lesson.realised is None
        for request in requests(evaluations=30)
        for lesson in request.lessons
    )


def test_over_an_unsteady_baseline_all_that_is_told_is_compared_by_own_times() -> None:
    toy = PaidToy()
    result = optimizer(MemoryJournal(), toy, UnsteadyBaseline(), evaluations=30).run()
    assert result.baseline.evaluation and result.baseline.evaluation.timing
    reference_us = result.baseline.evaluation.timing.median_us
    told = [
        evaluation
        for request in toy.asked
        for evaluation in (
            request.evaluation,
            *(x.evaluation for x in (*request.siblings, *request.exemplars, *request.history)),
        )
        if evaluation is not None and evaluation.measured
    ]
    assert len(told) > 100
    for evaluation in told:
        timing = evaluation.timing
        assert timing is not None and timing.baseline_us == reference_us
        assert timing.speedup == pytest.approx(reference_us / timing.median_us)
        assert timing.speedup_low < timing.speedup < timing.speedup_high < 1.3 * timing.speedup_low
