"""What comes before the first trial: the checks, the baseline, and the scale of rewards."""

from __future__ import annotations

from mcts.domain import Evaluation, Guidance
from mcts.domain.objective import OBJECTIVES
from mcts.errors import InputError
from mcts.loop.reward import RewardScale, RewardSettings
from mcts.loop.world import World
from mcts.options.search import Objective
from mcts.ports import Evaluator, Proposal


def check_options(
    *, parallel: int, finalists: int, objective: Objective, evaluator: Evaluator
) -> None:
    """Raise InputError for options that no run can have, or none with this evaluator."""
    if parallel < 1:
        raise InputError(f"parallel must be at least 1, not {parallel}")
    if finalists < 0:
        raise InputError(f"finalists must be at least 0, not {finalists}")
    if objective not in OBJECTIVES:
        raise InputError(f"there is no objective {objective!r}; one of: {', '.join(OBJECTIVES)}")
    if objective != "time" and not evaluator.measures_energy:
        raise InputError(
            f"objective {objective} needs energy, which evaluator {evaluator.name} does not measure"
        )


def measure_baseline(proposal: Proposal, *, world: World, objective: Objective) -> Evaluation:
    """Evaluate the baseline and adopt it as the content of trial 0; returns its evaluation.

    Raises InputError if it fails, or if the objective needs an energy that was not measured.
    """
    world.adopt(0, proposal)
    evaluation = world.bench.evaluate(0, proposal.candidate)
    if not evaluation.measured:
        raise InputError(f"the baseline fails ({evaluation.status}): {evaluation.message}")
    if objective != "time" and evaluation.energy is None:
        why = "; ".join(evaluation.notes) or "the baseline's energy could not be measured"
        raise InputError(f"objective {objective} cannot be searched for here: {why}")
    return evaluation


def reward_scale(
    baseline: Evaluation, guidance: Guidance, *, objective: Objective, settings: RewardSettings
) -> RewardScale:
    """The scale of a run's rewards: from the baseline's noise to the roofline's speed of light."""
    return RewardScale.calibrate(
        baseline,
        guidance.roofline.speed_of_light_us if guidance.roofline else None,
        objective=objective,
        settings=settings,
    )
