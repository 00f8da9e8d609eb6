"""`watch`: look at a search from another terminal."""

from __future__ import annotations

import typer

from experiments.cli.declaring import declare
from experiments.cli.display_options import Plain
from experiments.cli.options import Run


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    declare(app, watch)


def watch(run: Run, plain: Plain = False) -> None:
    """Watch a search that runs elsewhere, until it ends; Ctrl-C ends the watching alone."""
    from experiments.cli.commands.watch import watch as look

    raise typer.Exit(0 if look(run, plain=plain) else 1)
