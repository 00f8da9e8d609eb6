"""The baseline: measured before all else, it is the tree's root and the yardstick of rewards."""

from __future__ import annotations

from mcts.domain import Evaluation, Guidance
from mcts.errors import InputError
from mcts.loop.reward import RewardScale, RewardSettings
from mcts.loop.world import World
from mcts.options.search import Objective
from mcts.ports import Proposal


def measure_baseline(proposal: Proposal, *, world: World, objective: Objective) -> Evaluation:
    """The evaluation of the baseline, which is adopted as the content of trial 0.

    Raises InputError where it fails, or where the objective needs its energy and has none.
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
