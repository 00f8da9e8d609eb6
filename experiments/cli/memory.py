"""`memory`: what was learned over all runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.options import Json

app = typer.Typer(
    name="memory",
    no_args_is_help=True,
    help="What was learned over all runs.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command("tools")
def memory_tools(
    memory: Annotated[Path | None, typer.Option(help="The memory; default: yours.")] = None,
    gpu: Annotated[str | None, typer.Option(help="Only this GPU, by its full name.")] = None,
    proposer: Annotated[str | None, typer.Option(help="Only this proposer.")] = None,
    json: Json = False,
) -> None:
    """Show what each micro-tool's advice was worth: how often followed, and with what gain."""
    from experiments.commands.memory import tools

    tools(memory=memory, gpu=gpu, proposer=proposer, as_json=json)
