"""How a command shows what it does while it does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from experiments.live import Display

Plain = Annotated[
    bool, typer.Option("--plain", help="Lines instead of a panel, as where there is no terminal.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show nothing until the result; errors still are.")
]


def display_of(*, plain: bool, quiet: bool) -> Display:
    """The display asked for. InputError for two at once."""
    from mcts.errors import InputError

    if plain and quiet:
        raise InputError("--plain and --quiet exclude each other: give one of them")
    if quiet:
        return "quiet"
    return "plain" if plain else "auto"
