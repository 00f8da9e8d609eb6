"""A job done by an evaluator of this machine."""

from __future__ import annotations

from typing import Any

from experiments.farm.jobs import Ability, Answer, Job
from mcts.errors import WorldError
from mcts.ports import Evaluator


def perform(job: Job, evaluator: Evaluator, *, worker: str) -> Answer:
    """The answer to a job. Raises what the evaluator raises, WorldError for what it cannot do."""
    return Answer(
        job_id=job.id,
        kind=job.kind,
        worker=worker,
        hardware=evaluator.hardware,
        **_parts(job, evaluator),
    )


def abilities_of(evaluator: Evaluator) -> tuple[Ability, ...]:
    """What an evaluator can do besides what every one must."""
    found: list[Ability] = []
    if evaluator.can_confirm:
        found.append("confirm")
    if evaluator.measures_energy:
        found.append("energy")
    return tuple(found)


def _parts(job: Job, evaluator: Evaluator) -> dict[str, Any]:
    candidate, seen = job.candidate, job.evaluation
    if candidate is None:
        return {"abilities": abilities_of(evaluator)}
    if seen is None:
        return {"evaluation": evaluator.evaluate(candidate)}
    if job.kind == "profile":
        return {"profile": evaluator.profile(candidate, seen)}
    if job.kind == "confirm" and evaluator.can_confirm:
        return {"evaluation": evaluator.confirm(candidate, seen)}
    if job.kind == "energy" and evaluator.measures_energy:
        return {"evaluation": evaluator.measure_energy(candidate, seen)}
    raise WorldError(f"the evaluator {evaluator.name} knows no jobs of kind {job.kind}")
