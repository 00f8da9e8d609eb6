"""`skill`: teach a coding agent to use the judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.declaring import PlainCommand, PlainGroup

app = typer.Typer(
    cls=PlainGroup,
    name="skill",
    no_args_is_help=True,
    help="Teach a coding agent to use the judge.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def skill() -> None:
    """Teach a coding agent to use the judge."""


@app.command(cls=PlainCommand)
def export(
    folder: Annotated[
        Path,
        typer.Argument(help="The folder to write, such as .claude/skills/rooftree.", metavar="DIR"),
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier export in that folder.")
    ] = False,
) -> None:
    """Write SKILL.md and scripts with which an agent can verify, time and profile its kernels."""
    from experiments.cli.commands.skill import export as write

    for path in write(folder, force=force):
        typer.echo(str(path))
