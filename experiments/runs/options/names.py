"""Parts by name: our own, and those that other distributions register as entry points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from experiments.text.words import did_you_mean
from mcts.errors import InputError
from mcts.search.catalogue import searches
from mcts.text import one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PROPOSERS = "rooftree.proposers"
EVALUATORS = "rooftree.evaluators"
SEARCHES = "rooftree.searches"

OURS: Mapping[str, Mapping[str, str]] = {
    PROPOSERS: {
        "scripted": "experiments.runs.wiring.parts:scripted_proposer",
        "llm": "experiments.runs.wiring.parts:llm_proposer",
        "transfer": "experiments.runs.wiring.parts:transfer_proposer",
        "tpe": "codegen.scripted.tpe:tpe_proposer",
        "uniform": "codegen.scripted.uniform:uniform_proposer",
    },
    EVALUATORS: {
        "replay": "experiments.runs.wiring.parts:replay_evaluator",
        "gpu": "experiments.runs.wiring.parts:gpu_evaluator",
        "dask": "experiments.runs.wiring.parts:dask_evaluator",
    },
}
"""Where our proposers and evaluators are; entry points are for others."""

_GONE = {(EVALUATORS, "spool"): "use dask:ADDRESS instead, as docs/clusters.md says"}
"""What takes the place of parts of earlier versions."""
_MOST_SAID = 200
"""Characters of what a part said that cannot be loaded."""
_SINGULAR = {PROPOSERS: "proposer", EVALUATORS: "evaluator", SEARCHES: "search"}


def split(name: str) -> tuple[str, str]:
    """A part's name and its argument: ``dask:FILE`` is `dask` with `FILE`."""
    base, _, argument = name.partition(":")
    return base, argument


def ours(group: str) -> Mapping[str, str]:
    """Our own parts of a group, by name: the module and the factory in it.

    Searches are found in their folder, which imports them all.
    """
    if group == SEARCHES:
        return {name: f"{kind.__module__}:{kind.__name__}" for name, kind in searches().items()}
    return OURS.get(group, {})


def available(group: str) -> dict[str, EntryPoint]:
    """The parts of a group by name; of two with one name, ours wins."""
    from importlib.metadata import EntryPoint, entry_points

    foreign = {point.name: point for point in entry_points(group=group)}
    return foreign | {name: EntryPoint(name, at, group) for name, at in ours(group).items()}


def load(group: str, name: str) -> Callable[..., Any]:
    """Import the factory behind a name. InputError names the known ones, or the failed import."""
    known = available(group)
    if name not in known and (instead := _GONE.get((group, name))):
        raise InputError(f"{_SINGULAR[group]} {name} is no more: {instead}")
    if name not in known:
        hint = did_you_mean(name, known, behind=" ")
        what = _SINGULAR.get(group, group)
        listed = ", ".join(sorted(known))
        raise InputError(f"unknown {what} {name!r}: {hint}known: {listed}")
    try:
        factory: Callable[..., Any] = known[name].load()
    except Exception as error:  # noqa: BLE001 - foreign code: its failure is what is told
        source = _distribution(known[name])
        said = one_line(f"{type(error).__name__}: {error}", _MOST_SAID)
        raise InputError(f"{group} {name!r} of {source} cannot be loaded: {said}") from None
    return factory


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "Rooftree"
