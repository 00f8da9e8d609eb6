"""The scripted proposer: a fair local sampler that listens to advice and experience."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest

from codegen.scripted.candidate_space import TaskKey, candidate_space
from codegen.scripted.proposer import ScriptedProposer
from experiments.runs.tasks.files import find_task
from mcts.domain import (
    AxisGap,
    Candidate,
    Evaluation,
    Finding,
    Guidance,
    KernelTask,
    Lesson,
    Roofline,
    StateSignature,
    Tunable,
    TunableSpace,
    Workload,
)
from mcts.errors import NoMoves
from mcts.ports import Attempt, ProposalRequest, Proposer
from mcts.search.trial import Move
from mcts.testing.proposers import ProposerContract
from tests.codegen.cases import DEFAULTS, SCALE, ask, measured, scale_task, space_task


class TestOnASource(ProposerContract):
    exhausts = True

    @pytest.fixture
    def proposer(self) -> Proposer:
        return ScriptedProposer()

    @pytest.fixture
    def request_(self) -> ProposalRequest:
        return ask()


class TestOnARecordedSpace(TestOnASource):
    """Sparse rows: most have no neighbour one step away, and all are reached nevertheless."""

    @pytest.fixture
    def request_(self) -> ProposalRequest:
        return ask(space_task(tunables=6, values=4, rows=60))


def _drawn(count: int, task: KernelTask | None = None, **told: Any) -> list[Candidate]:
    """The answers to one request under so many seeds."""
    proposer = ScriptedProposer()
    return [proposer.propose(ask(task, seed=seed, **told)).candidate for seed in range(count)]


def _moved(parent: Candidate | None = None, **told: Any) -> Counter[str]:
    """How often each tunable is moved over many seeds."""
    parent = parent or scale_task().baseline
    return Counter(
        name
        for candidate in _drawn(600, parent=parent, **told)
        for name, value in candidate.tunables.items()
        if parent.tunables[name] != value
    )


def _advice(strength: float = 1.0) -> Guidance:
    finding = Finding(
        tool="narrow_loads",
        axis="memory",
        strength=strength,
        evidence=(),
        advice="Load wider.",
        methods=("memory.vectorized_loads",),
    )
    return Guidance(findings=(finding,))


def test_without_advice_every_tunable_is_moved_alike_and_near_values_come_first() -> None:
    task = space_task(tunables=4, values=5)
    proposals = [candidate.tunables for candidate in _drawn(1200, task)]
    moved = Counter(name for values in proposals for name, value in values.items() if value)
    assert max(moved.values()) < 1.35 * min(moved.values())
    steps = Counter(value for values in proposals for value in values.values() if value)
    assert steps[1] > steps[2] > steps[3] > steps[4] > 0
    sizes = Counter(sum(1 for value in values.values() if value) for values in proposals)
    assert sizes[1] > sizes[2] > sizes[3] > 0


def test_a_finding_draws_moves_to_its_methods() -> None:
    plain, advised = _moved(), _moved(guidance=_advice())
    assert advised["VEC"] > 1.6 * plain["VEC"]
    assert min(advised[name] for name in DEFAULTS) > 0, "nothing is ruled out"


def test_a_finding_draws_moves_that_apply_its_methods_not_moves_that_take_them_back() -> None:
    parent = Candidate(source=SCALE, tunables={**DEFAULTS, "ITEMS": 2})
    (finding,) = _advice().findings
    more = finding.model_copy(update={"methods": ("latency.work_per_thread",)})
    plain, advised = (
        Counter(
            candidate.tunables["ITEMS"]
            for candidate in _drawn(600, parent=parent, guidance=guidance)
        )
        for guidance in (Guidance(), Guidance(findings=(more,)))
    )
    assert advised[4] > 1.5 * plain[4]
    assert 0 < advised[1] <= plain[1]


def test_the_method_budget_draws_moves_to_its_axis() -> None:
    roofline = Roofline(
        bound="memory",
        confidence=0.9,
        gap=AxisGap(compute=0.1, memory=0.9, latency=0.1),
        near_peak=False,
        method_budget={"compute": 0, "memory": 2, "latency": 0},
    )
    plain, advised = _moved(), _moved(guidance=Guidance(roofline=roofline))
    assert advised["HINT"] > 1.1 * plain["HINT"]
    assert advised["BLOCK"] < plain["BLOCK"]


def test_lessons_draw_moves_to_what_helped_and_away_from_what_failed() -> None:
    def lesson(method: str, gain: float | None) -> Lesson:
        outcome = "failed" if gain is None else "improved"
        return Lesson(state=StateSignature(), method=method, outcome=outcome, gain=gain)

    helped = [lesson("memory.cache_hints", 1.6)] * 3
    failed = [lesson("latency.work_per_thread", None)] * 4
    plain, taught = _moved(), _moved(lessons=(*helped, *failed))
    assert taught["HINT"] > 1.3 * plain["HINT"]
    assert taught["ITEMS"] < 0.6 * plain["ITEMS"]


def test_a_lesson_of_taking_a_method_back_says_nothing_of_applying_it() -> None:
    undone = Lesson(
        state=StateSignature(), method="memory.cache_hints", outcome="regressed", gain=0.5,
        undone=True,
    )  # fmt: skip
    applied = undone.model_copy(update={"undone": False})
    plain, back, there = (_moved(lessons=told) for told in ((), (undone,) * 4, (applied,) * 4))
    assert back["HINT"] == plain["HINT"] > 1.5 * there["HINT"]


def test_values_that_were_fast_in_this_run_are_drawn_more_often() -> None:
    def attempt(hint: int, items: int) -> Attempt:
        candidate = Candidate(source=SCALE, tunables={**DEFAULTS, "HINT": hint, "ITEMS": items})
        timing = measured(candidate).timing
        assert timing is not None
        if not hint:
            timing = timing.model_copy(update={"speedup": 1.0})
        update = {"timing": timing}
        return Attempt(
            candidate=candidate, evaluation=measured(candidate).model_copy(update=update)
        )

    fast_when_hinted = tuple(attempt(hint, items) for hint in (0, 1) for items in (1, 4, 8))
    plain, told = (
        Counter(candidate.tunables["HINT"] for candidate in _drawn(300, history=history))
        for history in ((), fast_when_hinted)
    )
    assert told[1] > 1.5 * plain[1] > 0


def test_without_any_advice_the_first_proposals_are_far_ones() -> None:
    def changed(**told: object) -> float:
        found = _drawn(200, **told)
        return sum(one.tunables[name] != DEFAULTS[name] for one in found for name in DEFAULTS)

    baseline = scale_task().baseline
    begun = (Attempt(candidate=baseline, evaluation=measured(baseline)),)
    assert changed(history=begun) > 1.3 * changed()
    assert changed(history=begun, guidance=_advice()) < 1.3 * changed()
    assert changed(history=begun * 20) < 1.3 * changed()


def _trap() -> KernelTask:
    """KEEP cannot be had with STAGE, where the run stands, and so by no single step."""
    rows = [(keep, stage, hint, block) for keep, stage, hint, block in itertools.product(
        range(3), range(2), range(2), range(3)) if not (keep and stage)]  # fmt: skip
    counts = {"KEEP": 3, "STAGE": 2, "HINT": 2, "BLOCK": 3}
    space = TunableSpace(
        tunables={name: Tunable(values=tuple(range(n)), default=0) for name, n in counts.items()},
        rows=tuple(rows),
    )
    return KernelTask(
        name="trap",
        dialect="space",
        baseline=Candidate(tunables=space.default()),
        workloads=(Workload(name="main", shape={}),),
        space=space,
    )


def _fast_when_staged() -> tuple[Attempt, ...]:
    """All without KEEP, each measured: STAGE makes them fast, and nothing else does much."""
    attempts = []
    for stage, hint, block in itertools.product(range(2), range(2), range(3)):
        candidate = Candidate(tunables={"KEEP": 0, "STAGE": stage, "HINT": hint, "BLOCK": block})
        evaluation = measured(candidate)
        assert evaluation.timing is not None
        speedup = 1.0 + 0.5 * stage + 0.01 * hint
        timing = evaluation.timing.model_copy(update={"speedup": speedup})
        evaluation = evaluation.model_copy(update={"timing": timing})
        attempts.append(Attempt(candidate=candidate, evaluation=evaluation))
    return tuple(attempts)


def _farthest_from(task: KernelTask, *, seed: int = 0, **told: Any) -> Candidate:
    """The answer to a far move to another approach, from where STAGE is on."""
    parent = Candidate(tunables={"KEEP": 0, "STAGE": 1, "HINT": 0, "BLOCK": 0})
    move = Move("diversify", 4, far=True)
    return (
        ScriptedProposer().propose(ask(task, parent=parent, move=move, seed=seed, **told)).candidate
    )


def test_a_far_other_approach_goes_where_no_single_step_leads_and_no_time_is_known() -> None:
    task = _trap()
    history = _fast_when_staged()[2:]  # two that are near and slow were not measured either
    tried = frozenset(one.candidate.id for one in history if one.candidate)
    found = _farthest_from(task, history=history, tried=tried).tunables
    assert found["KEEP"] != 0 and found["STAGE"] == 0


def test_a_far_other_approach_is_not_drawn_and_never_goes_where_another_went() -> None:
    task = _trap()
    history = _fast_when_staged()
    tried = frozenset(one.candidate.id for one in history if one.candidate)
    first = {_farthest_from(task, seed=s, history=history, tried=tried).id for s in range(9)}
    assert len(first) == 1
    second = _farthest_from(task, history=history, tried=tried | first)
    assert second.id not in tried | first
    assert "where this run's times promise most" in second.rationale


def test_a_far_move_is_drawn_if_no_times_are_known() -> None:
    assert len({_farthest_from(_trap(), seed=seed).id for seed in range(30)}) > 5


def test_a_step_back_claims_no_method_and_says_what_it_takes_back() -> None:
    far = Candidate(source=SCALE, tunables={**DEFAULTS, "ITEMS": 8})
    words: dict[object, str] = {}
    for candidate in _drawn(200, parent=far):
        moved = [name for name in DEFAULTS if candidate.tunables[name] != far.tunables[name]]
        if moved == ["ITEMS"]:
            after = candidate.tunables["ITEMS"]
            words[after] = candidate.rationale
            assert not candidate.methods
    assert words[1] == "ITEMS 8 -> 1: without work per thread"
    assert words[4] == "ITEMS 8 -> 4: less work per thread"


def test_later_siblings_turn_to_tunables_that_earlier_ones_left_alone() -> None:
    blocks = [Candidate(source=SCALE, tunables={**DEFAULTS, "ITEMS": v}).id for v in (4, 8)]
    plain, later = _moved(), _moved(tried=frozenset(blocks))
    assert later["ITEMS"] < plain["ITEMS"]


def test_a_repair_steps_back_towards_the_defaults() -> None:
    parent = Candidate(source=SCALE, tunables={**DEFAULTS, "BLOCK": 256, "ITEMS": 8})
    failed = Evaluation(candidate_id=parent.id, status="runtime_error", message="no resources")
    moved = _moved(parent=parent, evaluation=failed, move=Move("repair", 0))
    assert moved["BLOCK"] + moved["ITEMS"] > 4 * (moved["VEC"] + moved["HINT"])
    found = _drawn(200, parent=parent, evaluation=failed, move=Move("repair", 0))
    values = [(int(one.tunables["BLOCK"]), int(one.tunables["ITEMS"])) for one in found]
    assert sum(block <= 256 and items <= 8 for block, items in values) > 180
    assert "repair of runtime error" in found[-1].rationale


def test_a_far_move_changes_several_tunables_the_advised_ones_above_all() -> None:
    def changes(far: bool) -> list[set[str]]:
        found = _drawn(200, guidance=_advice(), move=Move("improve", 0, far))
        return [
            {name for name, at in one.tunables.items() if at != DEFAULTS[name]} for one in found
        ]

    near, far = changes(False), changes(True)
    assert sum(map(len, far)) > 1.5 * sum(map(len, near))
    counts = Counter(name for moved in far for name in moved)
    advised = max(counts, key=lambda name: counts[name])
    assert advised == Counter(name for moved in near for name in moved).most_common(1)[0][0]
    assert len({frozenset(moved) for moved in far}) > 4, "they are not all the same jump"


def test_it_says_what_it_moves_and_why() -> None:
    proposer = ScriptedProposer()
    for seed in range(50):
        proposal = proposer.propose(ask(guidance=_advice(), seed=seed))
        if proposal.candidate.tunables == {**DEFAULTS, "VEC": 2}:
            break
    candidate = proposal.candidate
    assert candidate.rationale == (
        "VEC 1 -> 2: vectorized loads and stores, as narrow_loads suggests"
    )
    assert candidate.methods == ("memory.vectorized_loads",)
    assert proposal.prior > 0.5
    assert proposal.usage == {}


def test_a_kernel_without_tunables_leaves_nothing_to_move() -> None:
    source = (
        '/* rooftree\n[[launch]]\nkernel = "k"\ngrid = [1]\nblock = [32]\n*/\n'
        'extern "C" __global__ void k() {}'
    )
    with pytest.raises(NoMoves, match="no tunables"):
        ScriptedProposer().propose(ask(parent=Candidate(source=source)))


def test_a_task_of_the_same_name_with_other_shapes_has_its_own_space() -> None:
    proposer = ScriptedProposer()
    task = scale_task()
    proposer.propose(ask(task))
    odd = tuple(load.model_copy(update={"shape": {"n": 1001}}) for load in task.workloads)
    other = task.model_copy(update={"workloads": odd})
    for seed in range(60):
        assert proposer.propose(ask(other, seed=seed)).candidate.tunables["VEC"] == 1


def test_the_first_far_moves_go_to_each_other_implementation() -> None:
    """Each value of FUSE runs launches of its own; the fourth move is free."""
    task = find_task("prefix_sum").task
    forms = [
        {
            candidate.tunables["FUSE"]
            for candidate in _drawn(40, task, move=Move("improve", ordinal, far=True))
        }
        for ordinal in range(4)
    ]
    assert sorted(map(sorted, forms[:3])) == [[1], [2], [3]]
    assert len(forms[3]) > 1


def test_an_implementation_that_was_tried_out_leaves_the_others() -> None:
    task = find_task("gemm_fp32").task
    space = candidate_space(TaskKey(task), task.baseline.source)
    rows = space.encoded.rows
    assert rows is not None
    split = rows[rows[:, space.encoded.names.index("SPLIT_K")] > 0]
    tried = frozenset(space.id_of(row) for row in split)
    (drawn,) = _drawn(1, task, move=Move("improve", 0, far=True), tried=tried)
    assert drawn.tunables["SPLIT_K"] == 1


def test_a_move_that_is_not_far_stays_where_it_is_likely() -> None:
    task = find_task("prefix_sum").task
    near = _drawn(40, task, move=Move("improve", 0))
    assert any(candidate.tunables["FUSE"] == 0 for candidate in near)
    free = ScriptedProposer(implementations=False)
    drawn = {
        free.propose(ask(task, seed=seed, move=Move("improve", 0, far=True))).candidate
        .tunables["FUSE"]
        for seed in range(40)
    }  # fmt: skip
    assert len(drawn) > 1
