"""What can be named: our own parts, and those that other distributions registered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points

from experiments.runs.machines.machine import has_module
from experiments.runs.options import names
from experiments.text.words import counted
from mcts.text import one_line

OURS = "Rooftree"
_GROUPS = {
    names.PROPOSERS: "proposer",
    names.EVALUATORS: "evaluator",
    names.SEARCHES: "search",
}
_NEEDS = {
    ("proposer", "llm"): ("litellm", "litellm"),
    ("proposer", "tpe"): ("optuna", "rooftree[optuna]"),
    ("evaluator", "dask"): ("distributed", "rooftree[cluster]"),
}
"""The module that a part of ours imports only when it is used, and what brings it."""
_MOST_WORDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A part by name. `problem` says why it cannot be loaded, `needs` what is to be installed
    before it can be used; `hidden`: one of ours has its name.
    """

    kind: str
    name: str
    source: str
    problem: str = ""
    needs: str = ""
    hidden: bool = False


def plugins_found() -> list[Plugin]:
    """All parts, by kind; ours are loaded too. Micro-tools of ours are one line."""
    return [*_named_parts(), *_micro_tools()]


def _named_parts() -> Iterator[Plugin]:
    for group, kind in _GROUPS.items():
        ours = names.ours(group)
        for name, at in sorted(ours.items()):
            yield replace(
                _loaded(kind, EntryPoint(name, at, group), OURS), needs=_needs(kind, name)
            )
        for point in sorted(entry_points(group=group), key=lambda point: point.name):
            if point.name in ours:
                yield Plugin(kind=kind, name=point.name, source=source_of(point), hidden=True)
            else:
                yield _loaded(kind, point, source_of(point))


def _needs(kind: str, name: str) -> str:
    module, brought_by = _NEEDS.get((kind, name), (None, ""))
    if module is None or has_module(module):
        return ""
    return f"needs {module}: pip install '{brought_by}'"


def _micro_tools() -> Iterator[Plugin]:
    from microtools.registry import GROUP, builtin, load

    yield Plugin(kind="micro-tool", name=counted(len(builtin()), "tool"), source=OURS)
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        if point.value.startswith("microtools."):
            continue  # an older release registered ours
        _, notes = load([point])
        problem = one_line(notes[0], _MOST_WORDS) if notes else ""
        yield Plugin(kind="micro-tool", name=point.name, source=source_of(point), problem=problem)


def source_of(point: EntryPoint) -> str:
    """The distribution that registered an entry point, with its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else OURS


def _loaded(kind: str, point: EntryPoint, source: str) -> Plugin:
    try:
        point.load()
    except Exception as error:  # noqa: BLE001 - foreign code: its failure is what is told
        said = one_line(f"{type(error).__name__}: {error}", _MOST_WORDS)
        return Plugin(kind=kind, name=point.name, source=source, problem=said)
    return Plugin(kind=kind, name=point.name, source=source)
