"""The methods that a kernel still claims: those of its line, less those that were taken back."""

from __future__ import annotations

from collections.abc import Sequence

from mcts.domain import Candidate
from mcts.domain.launch_plan import parse_launch_plan
from mcts.errors import InputError
from mcts.journal.record import NodeRecord


def standing_methods(path: Sequence[NodeRecord]) -> tuple[str, ...]:
    """Methods claimed along `path`, from the baseline down, in the order of their first claim.

    A method that tunables switch is taken back where all of them stand again at the values from
    which it was claimed, in the same source; nothing is known of one that no tunable names, nor of
    one that was claimed before the source was last rewritten.
    """
    nodes = [node.candidate for node in path if node.candidate is not None]
    claimed = dict.fromkeys(method for one in nodes for method in one.methods)
    if not nodes:
        return ()
    last = nodes[-1]
    begin = _last_rewrite(nodes)
    switches = _switches(last)
    rewritten = {method for one in nodes[: begin + 1] for method in one.methods}
    before, after = nodes[begin].tunables, last.tunables
    return tuple(
        method
        for method in claimed
        if method in rewritten
        or method not in switches
        or any(before.get(name) != after.get(name) for name in switches[method])
    )


def _last_rewrite(nodes: Sequence[Candidate]) -> int:
    """Where the last source first stands: at the baseline, else where it stands to the end."""
    last = nodes[-1].source
    if nodes[0].source == last:
        return 0
    return next(at for at in range(len(nodes)) if all(one.source == last for one in nodes[at:]))


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
