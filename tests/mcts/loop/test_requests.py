"""What a proposer is told: earlier siblings, exemplars, the parent's profile, another approach."""

from __future__ import annotations

import itertools

from mcts.domain import Candidate, Evaluation, KernelProfile, Profile, SassFacts
from mcts.ports import ProposalRequest
from mcts.search.puct import PuctSettings
from mcts.testing.toy import MemoryJournal, ToyEvaluator
from tests.mcts.journal.paid import PaidToy, optimizer


class Profiling(ToyEvaluator):
    """Its machine code unrolls where the tunable says so."""

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        sass = SassFacts(instructions=10 * int(candidate.tunables["UNROLL"]))
        return Profile(kernels=(KernelProfile(name="toy", sass=sass),))


def requests(
    journal: MemoryJournal | None = None, *, evaluations: int = 60, **options: object
) -> list[ProposalRequest]:
    toy = PaidToy(rejects=6)
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
