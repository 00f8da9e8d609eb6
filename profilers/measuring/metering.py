"""Adds the measured energy to an evaluation."""

from __future__ import annotations

from contextlib import AbstractContextManager

from mcts.domain import Evaluation
from mcts.errors import EnergyUnavailable, InputError, WorldError
from mcts.search.seeding import seed_from
from profilers.hardware.nvml import NvmlEnergy
from profilers.measuring.energy import EnergyPlan, Runners, measure_energy


def with_energy(
    evaluation: Evaluation, *, uuid: str | None, runners: AbstractContextManager[Runners]
) -> Evaluation:
    """`evaluation` with the energy per call on the GPU with `uuid`, or with a note why not."""
    if uuid is None:
        return _noted(evaluation, "energy was not measured: there is no GPU")
    plan = EnergyPlan(seed=seed_from("energy", evaluation.candidate_id))
    try:
        with NvmlEnergy(uuid) as sensor, runners as run:
            energy = measure_energy(
                sensor, baseline=run.baseline, candidate=run.candidate, plan=plan
            )
    except (EnergyUnavailable, InputError) as error:
        return _noted(evaluation, f"energy was not measured: {error}")
    except WorldError as error:
        return _noted(evaluation, f"energy was not measured, running failed: {error}")
    return evaluation.model_copy(update={"energy": energy})


def _noted(evaluation: Evaluation, note: str) -> Evaluation:
    return evaluation.model_copy(update={"notes": (*evaluation.notes, note)})
