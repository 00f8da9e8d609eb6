"""`attribute`: what the methods of a run are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.declaring import Taken, declare
from experiments.cli.options import Json, Run

if TYPE_CHECKING:
    from mcts.options import JudgingOptions, Limits, ModelOptions

_DEVICE = "Which GPU, as CUDA counts them; default: the run's own."


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    declare(app, attribute)


def attribute(
    run: Run,
    judging: Annotated[JudgingOptions, Taken("device", device={"default": None, "help": _DEVICE})],
    limits: Annotated[Limits, Taken(without=("evaluations", "minutes"))],
    model: Annotated[ModelOptions, Taken("prices")],
    node: Annotated[
        list[int] | None,
        typer.Option(min=0, help="A node to look at; repeatable; default: the path to the best."),
    ] = None,
    tunables_only: Annotated[
        bool,
        typer.Option("--tunables-only", help="Take methods out by tunables alone; ask no model."),
    ] = False,
    json: Json = False,
) -> None:
    """Say what each method of the best kernel is worth: take it out, measure, read machine code."""
    from experiments.cli.commands.attribute import attribute as do_attribute

    do_attribute(
        run,
        ids=node or (),
        judging=judging,
        limits=limits,
        model=model,
        tunables_only=tunables_only,
        as_json=json,
    )
