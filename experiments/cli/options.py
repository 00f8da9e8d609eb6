"""Arguments and options that several commands share and no model holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcts.errors import InputError

if TYPE_CHECKING:
    from experiments.live import Display

Task = Annotated[
    str,
    typer.Argument(
        help="A bundled task's name, a task folder, a T4 recording, or a KernelBench problem file "
        "(to optimize: with --model).",
        metavar="TASK",
    ),
]
Run = Annotated[Path, typer.Argument(help="A run folder.", metavar="RUN")]
OUTPUT = "Output"
"""The panel of options that say where results go and how they are shown."""
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Print JSON on standard output, and nothing else.", rich_help_panel=OUTPUT
    ),
]
Plain = Annotated[
    bool,
    typer.Option(
        "--plain",
        help="Print lines instead of a panel, as without a terminal.",
        rich_help_panel=OUTPUT,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Show nothing until the result; errors still are.",
        rich_help_panel=OUTPUT,
    ),
]


def display_of(*, plain: bool, quiet: bool) -> Display:
    """The display that the options ask for. InputError if they ask for two."""
    if plain and quiet:
        raise InputError("--plain and --quiet exclude each other: give one of them")
    if quiet:
        return "quiet"
    return "plain" if plain else "auto"
