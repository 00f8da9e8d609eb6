"""Ablation: a variant without one of its methods, and what the comparison says the method is worth.

After the ablation and the SASS check of cuda-optimized-skill V2: a proposal usually applies several
methods at once and its gain belongs to all of them together. One variant per method, with that
method removed, says what it brought; the machine code says whether it was ever there.
"""

from __future__ import annotations

from dataclasses import dataclass

from mcts.domain import (
    Attribution,
    Candidate,
    Evaluation,
    KernelTask,
    Scalar,
    TunableSpace,
    Worth,
    declared_space,
)
from mcts.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class AblatedVariant:
    """A candidate without one of its methods: `tunables` were moved for it, or it was rewritten.

    `note` says what else the change may have touched.
    """

    candidate: Candidate
    tunables: tuple[str, ...] = ()
    note: str = ""


def ablated_by_tunable(
    task: KernelTask, candidate: Candidate, parent: Candidate, method: str
) -> AblatedVariant | None:
    """`candidate` with the tunables that exercise `method` set back. Returns None if none can be.

    Each goes back to the parent's value, or if it has that already to the one of the task's
    baseline, else to its default.
    """
    space = _space_of(task, candidate)
    moved: dict[str, Scalar] = {}
    for name, tunable in space.tunables.items():
        if method in tunable.methods and name in candidate.tunables:
            before = _before(name, space, candidate, (parent, task.baseline))
            if before is not None:
                moved[name] = before
    configuration = {**candidate.tunables, **moved}
    if not moved or not task.allows(space, configuration):
        return None
    update = {
        "tunables": configuration,
        "methods": tuple(other for other in candidate.methods if other != method),
        "rationale": f"without {method}",
    }
    others = {other for name in moved for other in space.tunables[name].methods} - {method}
    shared = ", ".join(sorted(others & set(candidate.methods)))
    return AblatedVariant(
        candidate=candidate.model_copy(update=update),
        tunables=tuple(moved),
        note=f"moving {', '.join(moved)} also touches {shared}" if shared else "",
    )


def _space_of(task: KernelTask, candidate: Candidate) -> TunableSpace:
    try:
        return declared_space(task, candidate.source)
    except InputError:
        return TunableSpace()


def _before(
    name: str, space: TunableSpace, candidate: Candidate, earlier: tuple[Candidate, ...]
) -> Scalar | None:
    """The value to set a tunable back to; None if it has all of them already."""
    tunable, now = space.tunables[name], candidate.tunables[name]
    for value in (*(other.tunables.get(name) for other in earlier), tunable.default):
        if value is not None and value in tunable.values and value != now:
            return value
    return None


def attribute(
    method: str,
    *,
    whole: Evaluation,
    without: Evaluation,
    variant: AblatedVariant,
    seen: bool | None,
    noise: float,
) -> Attribution:
    """The worth of a method from the measurements with it (`whole`) and without it.

    Both are as candidates of the run are compared: over the baseline measured beside them, so that
    a drift of the clocks between the two cancels, or by their own times. The interval is the widest
    that the two intervals allow. What the machine code never shows is a failed implementation,
    whatever the gain: it came from elsewhere.
    """
    with_it, without_it = whole.timing, without.timing
    if not whole.measured or not without.measured or with_it is None or without_it is None:
        note = f"the variant without it fails ({without.status}): {without.message}"
        return unattributed(method, whole.candidate_id, note, seen=seen, variant=variant)
    gain = with_it.speedup / without_it.speedup - 1
    low = with_it.speedup_low / without_it.speedup_high - 1
    high = with_it.speedup_high / without_it.speedup_low - 1
    worth: Worth = "ineffective"
    if low > 0 and gain > noise:
        worth = "effective"
    elif high < 0 and gain < -noise:
        worth = "harmful"
    return Attribution(
        candidate_id=whole.candidate_id,
        method=method,
        worth="implementation_failed" if seen is False else worth,
        gain=gain,
        gain_low=low,
        gain_high=high,
        without=variant.candidate.id,
        tunables=variant.tunables,
        realised=seen,
        note=variant.note,
    )


def unattributed(
    method: str,
    candidate_id: str,
    note: str,
    *,
    seen: bool | None,
    variant: AblatedVariant | None = None,
) -> Attribution:
    """The worth of a method if no variant without it was measured; `note` says why."""
    return Attribution(
        candidate_id=candidate_id,
        method=method,
        worth="implementation_failed" if seen is False else "unknown",
        without=variant.candidate.id if variant else None,
        tunables=variant.tunables if variant else (),
        realised=seen,
        note=note,
    )
