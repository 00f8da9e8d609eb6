"""`explain`, `export`: hand over a run's best kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.declaring import declare
from experiments.cli.options import Json, Run
from mcts.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the commands to the program, in the order in which help lists them."""
    declare(app, explain, export)


def explain(
    run: Run,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write it to FILE.md instead.")
    ] = None,
) -> None:
    """Say why the best kernel is faster: Markdown for a pull request, from evidence alone."""
    from experiments.cli.commands.deliver import explain as show

    show(run, out=out)


def export(
    run: Run,
    folder: Annotated[
        Path | None, typer.Argument(help="The folder to write.", metavar="[DIR]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The folder to write, instead of DIR.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier export in that folder.")
    ] = False,
    json: Json = False,
) -> None:
    """Write the best kernel as source, ModelNew, header and patch, with what reproduces it."""
    from experiments.cli.commands.deliver import export as write

    target = folder or out
    if target is None or (folder and out):
        raise InputError("export: name one folder to write: rooftree export RUN DIR")
    write(run, target, force=force, as_json=json)
