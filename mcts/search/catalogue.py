"""Which searches there are: whatever module of this folder defines settings with a name."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from mcts.errors import RooftreeError
from mcts.search.port import SearchSettings


@cache
def searches() -> dict[str, type[SearchSettings]]:
    """The settings of Rooftree's own searches by name, in the order of the names.

    RooftreeError for two of one name, as a subclass has that does not give its own.
    """
    found: dict[str, type[SearchSettings]] = {}
    for _, name, _ in iter_modules([str(Path(__file__).parent)]):
        module = import_module(f"mcts.search.{name}")
        for kind in vars(module).values():
            if not _is_settings(kind) or kind.__module__ != module.__name__:
                continue
            if (other := found.setdefault(kind.name, kind)) is not kind:
                raise RooftreeError(
                    f"{other.__module__}.{other.__name__} and {kind.__module__}.{kind.__name__} "
                    f"are both called {kind.name!r}: give each its own `name`"
                )
    return dict(sorted(found.items()))


def _is_settings(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, SearchSettings) and bool(kind.name)
