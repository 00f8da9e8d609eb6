"""What searches and their settings were called in earlier versions, for what those wrote.

Journals name a search by the class of its settings; configurations, studies and the command line
by the name that `--search` takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from mcts.errors import InputError

_SEARCHES = {"SearchSettings": "PuctSettings"}
_SETTINGS: Mapping[str, Mapping[str, str]] = {
    "puct": {"leaps": "expected_improvement"},
    "PuctSettings": {"leaps": "expected_improvement"},
}

V = TypeVar("V")


def current_search(name: str) -> str:
    """The search's name of now."""
    return _SEARCHES.get(name, name)


def current_settings(search: str, settings: Mapping[str, V]) -> dict[str, V]:
    """The settings under their names of now. InputError if one has both its names."""
    renamed = _SETTINGS.get(current_search(search), {})
    for old, new in renamed.items():
        if old in settings and new in settings:
            raise InputError(f"{old} is an older name of {new}: set one of them")
    return {renamed.get(name, name): value for name, value in settings.items()}
