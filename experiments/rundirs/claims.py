"""The methods that a kernel still claims: those of its line, less those that were taken back."""

from __future__ import annotations

from collections.abc import Sequence

from mcts.domain import Candidate
from mcts.domain.launch_plan import parse_launch_plan
from mcts.errors import InputError
from mcts.record import NodeRecord


def standing_methods(path: Sequence[NodeRecord]) -> tuple[str, ...]:
    """Methods claimed along `path`, from the baseline down, in the order of their first claim.

    A method that tunables switch is taken back where all of them stand at the baseline's values
    again in the same source; nothing is known of one that no tunable names.
    """
    nodes = [node.candidate for node in path if node.candidate is not None]
    claimed = dict.fromkeys(method for one in nodes for method in one.methods)
    if not nodes or nodes[0].source != nodes[-1].source:
        return tuple(claimed)
    switches = _switches(nodes[0])
    first, last = nodes[0].tunables, nodes[-1].tunables
    return tuple(
        method
        for method in claimed
        if method not in switches
        or any(first.get(name) != last.get(name) for name in switches[method])
    )


def _switches(candidate: Candidate) -> dict[str, list[str]]:
    """The tunables that name each method; none where the source declares no tunables."""
    try:
        tunables = parse_launch_plan(candidate.source).tunables
    except InputError:
        return {}
    found: dict[str, list[str]] = {}
    for name, tunable in tunables.items():
        for method in tunable.methods:
            found.setdefault(method, []).append(name)
    return found
