"""One search on a recorded tree, through the loop of every run, with nothing written to disk."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.benchmarks.expansions.replay import RecordedEvaluator, RecordedProposer, Replay
from mcts.journal.in_memory import MemoryJournal
from mcts.journal.record import Result
from mcts.loop.optimizer import Budget, Optimizer
from mcts.loop.reward import RewardSettings
from mcts.loop.synchronous import SynchronousExecutor
from mcts.search.port import SearchSettings
from microtools.advisor import RooflineAdvisor


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRun:
    """What a search came to.

    best: [trials, speedup] whenever another variant became the best so far. missing: how often it
    wanted a child of a parent below which no recorded reply was left. `result` has the tree.
    """

    best: tuple[tuple[int, float], ...]
    missing: int
    result: Result


def run_policy(
    replay: Replay,
    *,
    search: SearchSettings,
    reward: RewardSettings | None = None,
    seed: int,
    budget: Budget,
    parallel: int = 1,
) -> PolicyRun:
    """Search a recorded tree for the `budget`, less if no reply is left anywhere.

    Rewards are those of the recorded runs: the baseline's noise and speed of light are kept.
    """
    journal = MemoryJournal()
    result = Optimizer(
        task=replay.task,
        proposer=RecordedProposer(replay),
        evaluator=RecordedEvaluator(replay),
        advisor=RooflineAdvisor(()),
        journal=journal,
        budget=budget,
        search_settings=search,
        reward_settings=reward,
        seed=seed,
        parallel=parallel,
        finalists=0,
        executor=SynchronousExecutor(),
    ).run()
    missing = sum(event.kind == "no_moves" for event in journal.events())
    return PolicyRun(best=_best_so_far(result), missing=missing, result=result)


def _best_so_far(result: Result) -> tuple[tuple[int, float], ...]:
    """A branch that became a node later cost no trial."""
    found: list[tuple[int, float]] = []
    fastest, trials = 1.0, 0
    for node in result.nodes[1:]:
        trials += not node.restarted
        evaluation = node.evaluation
        if evaluation is None or evaluation.speedup is None or evaluation.held_back:
            continue
        if evaluation.speedup > fastest:
            fastest = evaluation.speedup
            found.append((trials, round(fastest, 6)))
    return tuple(found)
