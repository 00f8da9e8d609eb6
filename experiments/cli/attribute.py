"""`attribute`: what the methods of a run are worth."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments.cli.model_options import MaxCost, MaxGpuMinutes, MaxTokens, Price
from experiments.cli.options import Json, Run


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(attribute)


def attribute(
    run: Run,
    node: Annotated[
        list[int] | None,
        typer.Option(min=0, help="A node to look at; repeatable; default: the path to the best."),
    ] = None,
    device: Annotated[
        int | None,
        typer.Option(min=0, help="Which GPU, as CUDA counts them; default: the run's own."),
    ] = None,
    tunables_only: Annotated[
        bool,
        typer.Option("--tunables-only", help="Ask no model to take out what no tunable can."),
    ] = False,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    max_gpu_minutes: MaxGpuMinutes = None,
    price: Price = None,
    json: Json = False,
) -> None:
    """Say what each method of the best kernel is worth: take it out, measure, read machine code."""
    from experiments.cli.commands.attribute import attribute as weigh

    weigh(
        run,
        ids=node or (),
        device=device,
        tunables_only=tunables_only,
        max_cost_usd=max_cost,
        max_tokens=max_tokens,
        max_gpu_minutes=max_gpu_minutes,
        prices=price or (),
        as_json=json,
    )
