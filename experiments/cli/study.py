"""`study`, `compare`: which way of searching is better, with statistics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.options import Json


def register(app: typer.Typer) -> None:
    """Add the commands to the program, in the order in which help lists them."""
    for command in (study, compare):
        app.command()(command)


def study(
    config: Annotated[Path, typer.Argument(help="The study, as TOML.", metavar="CONFIG.toml")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Its folder; default: studies/NAME.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs at a time; default: one per core.")
    ] = None,
) -> None:
    """Run ways of searching against each other on recordings; again to go on."""
    from experiments.commands.study import study as run

    run(config, out=out, jobs=jobs)


def compare(
    folder: Annotated[Path, typer.Argument(help="A study's folder.", metavar="STUDY")],
    reference: Annotated[
        str | None, typer.Option(help="The arm to compare with; default: the study's own.")
    ] = None,
    json: Json = False,
) -> None:
    """Say what a study found: paired tests, intervals, anytime curves."""
    from experiments.commands.compare import compare as show

    show(folder, reference=reference, as_json=json)
