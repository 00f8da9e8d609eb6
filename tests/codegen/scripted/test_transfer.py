"""Values chosen by what they were worth on other GPUs, each as far as it proves right here."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from codegen.scripted.proposer import ScriptedProposer
from codegen.scripted.transfer import Ground, Source, TransferProposer
from codegen.scripted.uniform import LatticeKey
from mcts.domain import Candidate, Evaluation, Guidance, KernelTask, declared_space
from mcts.domain.tunables import ConfigurationKey, configuration_key
from mcts.errors import InputError, NoMoves
from mcts.ports import Attempt, ProposalRequest
from mcts.search.trial import Move
from tests.experiments.conftest import make_task
from tests.support.evaluations import measured

TASK = make_task()


def keys(task: KernelTask = TASK) -> list[ConfigurationKey]:
    ground = TransferProposer([Source("any", dict.fromkeys(_all(task), 1.0))])._ground(
        LatticeKey(task, task.baseline.source)
    )
    return [configuration_key(ground.lattice.decode(row)) for row in ground.lattice_rows]


def _all(task: KernelTask) -> list[ConfigurationKey]:
    import itertools

    space = declared_space(task, task.baseline.source)
    names = list(space.tunables)
    values = [space.tunables[name].values for name in names]
    return [
        configuration_key(dict(zip(names, row, strict=True))) for row in itertools.product(*values)
    ]


def speeds(seed: int) -> dict[ConfigurationKey, float]:
    """A GPU's times: smooth in the tunables, with a best place of its own."""
    draw = random.Random(seed)
    wanted = {"BLOCK": draw.choice((64, 128, 256, 512)), "VEC": draw.choice((1, 2, 4)),
              "UNROLL": draw.choice((1, 2, 4, 8))}  # fmt: skip
    return {
        key: 100.0 * (1 + sum(abs(math.log2(value / wanted[name])) for name, value in key))
        for key in keys()
    }


def run(times: dict[ConfigurationKey, float], sources: list[Source], trials: int) -> list[float]:
    """The times that the proposer's choices come to, one after the other."""
    proposer = TransferProposer(sources)
    base = times[configuration_key(TASK.baseline.tunables)]
    history: list[Attempt] = []
    tried, found = {TASK.baseline.id}, []
    for _ in range(trials):
        request = request_of(history, tried)
        candidate = proposer.propose(request).candidate
        assert candidate.id not in tried
        tried.add(candidate.id)
        time = times[configuration_key(candidate.tunables)]
        found.append(time)
        evaluation = measured(base / time, name=candidate.id)
        history.append(Attempt(candidate=candidate, evaluation=evaluation))
    return found


def request_of(history: list[Attempt], tried: set[str]) -> ProposalRequest:
    return ProposalRequest(
        task=TASK, parent=TASK.baseline, evaluation=measured(1.0, name=TASK.baseline.id),
        guidance=Guidance(), move=Move("improve", 0), history=tuple(history),
        tried=frozenset(tried),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_a_gpu_that_is_alike_is_followed_at_once(seed: int) -> None:
    times = speeds(seed)
    scaled = {key: 7.3 * time for key, time in times.items()}
    first = run(times, [Source("alike", scaled)], 3)[0]
    best = min(time for key, time in times.items() if key != _baseline())
    assert first == best, "in whatever unit its times are"


@pytest.mark.parametrize("seed", range(4))
def test_of_two_gpus_the_one_that_proves_right_gains_weight(seed: int) -> None:
    times = speeds(seed)
    other = {key: 1e4 / time for key, time in times.items()}  # the fastest here are slowest there
    sources = [Source("right", times), Source("wrong", other)]
    proposer = TransferProposer(sources)
    ground = proposer._ground(LatticeKey(TASK, TASK.baseline.source))
    drawn = random.Random(seed).sample(range(len(ground.lattice_rows)), 16)
    at = np.array(drawn)
    seen = np.array([-math.log(times[keys()[place]]) for place in drawn])
    before = ground.believe(np.array([], dtype=np.int64), np.array([])).weights
    after = ground.believe(at, seen).weights
    assert before.tolist() == [0.5, 0.5]
    assert after[0] > 0.7 > 0.2 > after[1]


@pytest.mark.parametrize("seed", range(6))
def test_a_gpu_that_misleads_is_left_and_the_best_still_found(seed: int) -> None:
    times = speeds(seed)
    worst_first = {key: 1e4 / time for key, time in times.items()}
    found = run(times, [Source("misleads", worst_first)], 24)
    assert min(found) <= sorted(times.values())[1], "of 48 configurations, after half of them"


def test_failures_there_and_here_are_places_not_to_go() -> None:
    times = speeds(1)
    best = min(times, key=times.__getitem__)
    there = {key: time for key, time in times.items() if key != best}
    ground = Ground(_lattice(), [Source("there", there)])
    belief = ground.believe(np.array([], dtype=np.int64), np.array([]))
    assert belief.mean[keys().index(best)] == min(belief.mean)
    failed = Evaluation(candidate_id="c", status="compile_failed", message="no", build=None)
    history = [Attempt(candidate=Candidate(source=TASK.baseline.source, tunables=dict(best)),
                       evaluation=failed)]  # fmt: skip
    _, log_speeds = ground.observed(request_of(history, set()))
    assert log_speeds.tolist() == [0.0, -1.0], "the baseline, and what failed"


def test_what_cannot_be_used_is_told() -> None:
    with pytest.raises(InputError, match="needs --prior"):
        TransferProposer([])
    proposer = TransferProposer([Source("elsewhere", {(("N", 1),): 1.0})])
    with pytest.raises(InputError, match="elsewhere holds no configuration"):
        proposer.propose(request_of([], set()))
    known = TransferProposer([Source("known", speeds(0))])
    everything = {Candidate(source=TASK.baseline.source, tunables=dict(key)).id for key in keys()}
    with pytest.raises(NoMoves, match="was tried"):
        known.propose(request_of([], everything))


def _baseline() -> ConfigurationKey:
    return configuration_key(TASK.baseline.tunables)


def _lattice():  # type: ignore[no-untyped-def]
    from codegen.scripted.encoded_space import EncodedSpace

    return EncodedSpace(declared_space(TASK, TASK.baseline.source), TASK)


@pytest.mark.parametrize(
    ("since", "scripted"), [(7, False), (8, True), (9, False), (10, True), (11, False)]
)
def test_while_a_run_gains_nothing_every_other_trial_is_a_scripted_move(
    since: int, scripted: bool
) -> None:
    some = [Candidate(source=TASK.baseline.source, tunables=dict(key)) for key in keys()]
    some = [one for one in some if one.id != TASK.baseline.id][: since + 1]
    gains = [2.0, *[2.0 * 1.001] * since]  # noise is no gain
    history = [
        Attempt(candidate=one, evaluation=measured(gain, name=one.id))
        for one, gain in zip(some, gains, strict=True)
    ]
    request = request_of(history, {TASK.baseline.id, *(one.id for one in some)})
    proposal = TransferProposer([Source("any", speeds(1))]).propose(request)
    assert (proposal == ScriptedProposer().propose(request)) is scripted
    assert proposal.candidate.rationale.startswith("other GPUs' times") is not scripted


def test_where_no_move_is_left_the_times_of_others_go_on() -> None:
    every = [Candidate(source=TASK.baseline.source, tunables=dict(key)) for key in keys()]
    near = {
        ScriptedProposer().propose(replace(request_of([], set()), seed=seed)).candidate.id
        for seed in range(200)
    }
    judged = [one for one in every if one.id in near][:12]
    history = [Attempt(candidate=one, evaluation=measured(1.0, name=one.id)) for one in judged]
    history += [
        Attempt(candidate=one, evaluation=measured(0.9, name=one.id))
        for one in every
        if one.id in near and one not in judged
    ]
    tried = {TASK.baseline.id, *near}
    found = TransferProposer([Source("any", speeds(1))], patience=0).propose(
        request_of(history, tried)
    )
    assert found.candidate.id not in tried
