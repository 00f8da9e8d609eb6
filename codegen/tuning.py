"""The numbers of a variant, once its structure was measured: which values to time next.

A model decides on the structure and names the values that are worth trying; which of them are
best is a matter of measurements, and each costs seconds of a GPU, not a reply. First come the
combinations that differ most from those measured, so that there is something to tell from, then
those of the greatest expected improvement (`codegen.scripted.expected_improvement`), until it is
too small to be told from noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from codegen.dialects import Writing, writing_of
from mcts.domain import Candidate, KernelTask, Scalar, TunableSpace
from mcts.domain.objective import MIN_NOISE
from mcts.errors import InputError
from mcts.ports import Attempt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from codegen.scripted.encoded_space import Rows

WITHIN = 1.25
"""A variant that is slower than the best by more than this is not tuned."""
WORTH = MIN_NOISE
"""Expected gain, as a log speedup, below which nothing more is timed."""


def retuned(
    task: KernelTask, judged: Sequence[Attempt], *, best_speedup: float, seed: int
) -> Candidate | None:
    """The first candidate of `judged` with values that none of them has.

    None if it declares no tunables, nothing of it was measured, it is too slow to become the best,
    all its values were timed, or no others promise a gain that could be seen.
    """
    first = judged[0].candidate
    assert first is not None, "what was judged is a candidate"
    speedups = [_speedup(one) for one in judged]
    fastest = max((each for each in speedups if not math.isnan(each)), default=0.0)
    if fastest * WITHIN < best_speedup or not fastest:
        return None
    writing = writing_of(task.dialect)
    try:
        space = writing.space_of(first, task)
    except InputError:
        return None
    if space.size <= 1:
        return None
    known = [_values(one.candidate, task, writing) for one in judged if one.candidate]
    values = _next(space, task, known, speedups, seed=seed)
    if values is None:
        return None
    base = {**space.default(), **first.tunables}
    moved = [f"{name} = {values[name]}" for name in values if values[name] != base.get(name)]
    try:
        found = writing.with_values(first, values, task)
    except InputError:
        return None
    words = "; ".join(filter(None, [first.rationale, "with " + ", ".join(moved)]))
    return found.model_copy(update={"rationale": words})


def _speedup(attempt: Attempt) -> float:
    found = attempt.evaluation.speedup if attempt.evaluation else None
    return math.nan if found is None else found


def _values(candidate: Candidate, task: KernelTask, writing: Writing) -> dict[str, Scalar]:
    return {**writing.space_of(candidate, task).default(), **candidate.tunables}


def _next(
    space: TunableSpace,
    task: KernelTask,
    known: Sequence[dict[str, Scalar]],
    speedups: Sequence[float],
    *,
    seed: int,
) -> dict[str, Scalar] | None:
    """The values to time next; None if no more are worth it."""
    import numpy as np

    from codegen.scripted.encoded_space import EncodedSpace
    from codegen.scripted.expected_improvement import counted_gains, expected_gains

    encoded = EncodedSpace(space, task)
    rows = np.array([encoded.encode(values) for values in known], dtype=np.int64)
    pool = _pool(encoded.rows, rows, encoded.values, seed=seed)
    pool = pool[encoded.allowed(pool)]
    pool = pool[~(pool[:, None, :] == rows[None, :, :]).all(axis=2).any(axis=1)]
    if not len(pool):
        return None
    logs = np.log(np.array(speedups, dtype=np.float64))
    counted = counted_gains(logs)
    if counted is None or len(rows) <= len(encoded.names):
        if _alike(logs, enough=len(encoded.names)):
            return None
        apart = (pool[:, None, :] != rows[None, :, :]).sum(axis=2).min(axis=1)
        return encoded.decode(pool[int(np.argmax(apart))])
    gains = expected_gains(encoded.values, rows, logs, pool)
    assert gains is not None, "its gains can be counted"
    at = int(np.argmax(gains))
    if gains[at] * float(counted.std()) < WORTH:
        return None
    return encoded.decode(pool[at])


def _alike(logs: NDArray[np.float64], *, enough: int) -> bool:
    """Whether more than `enough` combinations, and at least four, took the same time."""
    import numpy as np

    measured = logs[~np.isnan(logs)]
    return len(measured) > max(3, enough) and float(np.ptp(measured)) < WORTH


def _pool(held: Rows | None, rows: Rows, values: Sequence[Sequence[Scalar]], *, seed: int) -> Rows:
    """Rows to choose from, in an order drawn by `seed`; of a space too large to hold, a sample."""
    import numpy as np

    from codegen.scripted.expected_improvement import MAX_POOL

    rng = np.random.default_rng(seed)
    if held is None:
        drawn = [rng.integers(len(choices), size=MAX_POOL) for choices in values]
        return np.unique(np.column_stack(drawn), axis=0)
    pool: Rows = held[rng.permutation(len(held))[:MAX_POOL]]
    return pool
