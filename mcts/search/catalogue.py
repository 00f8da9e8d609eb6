"""Which searches there are: whatever module of this folder defines settings with a name."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from mcts.search.port import SearchSettings


@cache
def searches() -> dict[str, type[SearchSettings]]:
    """The settings of Rooftree's own searches by name, in the order of the names."""
    found: dict[str, type[SearchSettings]] = {}
    for _, name, _ in iter_modules([str(Path(__file__).parent)]):
        module = import_module(f"mcts.search.{name}")
        for kind in vars(module).values():
            if _is_settings(kind) and kind.__module__ == module.__name__:
                found[kind.name] = kind
    return dict(sorted(found.items()))


def _is_settings(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, SearchSettings) and bool(kind.name)
