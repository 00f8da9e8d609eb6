"""What a run may be asked for."""

from __future__ import annotations

from mcts.domain.objective import OBJECTIVES
from mcts.errors import InputError
from mcts.options.search import Objective
from mcts.ports import Evaluator


def check_options(
    *, parallel: int, finalists: int, objective: Objective, evaluator: Evaluator
) -> None:
    """Raise InputError for what cannot be done, or not with this evaluator."""
    if parallel < 1:
        raise InputError("a run needs at least one trial at a time")
    if finalists < 0:
        raise InputError(f"the number of finalists is not negative, not {finalists}")
    if objective not in OBJECTIVES:
        raise InputError(f"there is no objective {objective!r}; one of: {', '.join(OBJECTIVES)}")
    if objective != "time" and not evaluator.measures_energy:
        raise InputError(
            f"objective {objective} needs energy, which evaluator {evaluator.name} does not measure"
        )
