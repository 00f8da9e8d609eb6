"""`tasks`: the bundled ones, and new ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.declaring import PlainGroup, Taken, declare
from experiments.cli.options import Json

if TYPE_CHECKING:
    from mcts.options import JudgingOptions

app = typer.Typer(
    cls=PlainGroup,
    name="tasks",
    invoke_without_command=True,
    help="List the bundled tasks and what is recorded of them; or make new ones.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def tasks(context: typer.Context, json: Json = False) -> None:
    """List the bundled tasks and what is recorded of them; or make new ones."""
    if context.invoked_subcommand is not None:
        return
    from experiments.cli.commands.show import tasks as show

    show(as_json=json)


def synthesise(
    judging: Annotated[JudgingOptions, Taken("device")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder to make.", metavar="DIR")],
    count: Annotated[int, typer.Option("--n", min=1, max=100_000, help="How many tasks.")] = 200,
    seed: Annotated[int, typer.Option(help="Draws operators and shapes.")] = 0,
    unlike: Annotated[
        Path | None,
        typer.Option(
            help="A KernelBench checkout: no task is like one of its problems.", metavar="ROOT"
        ),
    ] = None,
    gpu: Annotated[
        bool | None,
        typer.Option(
            "--gpu/--no-gpu",
            help="Gate, compile and time each on a GPU; default: where there is one.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make KernelBench problem files of up to five operators, filtered, to train on."""
    from experiments.cli.commands.synthesise import synthesise as make

    make(out, count=count, seed=seed, unlike=unlike, on_gpu=gpu, judging=judging, as_json=json)


def from_definition(
    definition: Annotated[Path, typer.Argument(help="A definition's JSON.", metavar="DEFINITION")],
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Where the problem files go.", metavar="DIR")
    ],
    workloads: Annotated[
        Path | None,
        typer.Option(
            help="Its workloads, JSONL; default: where the dataset keeps them.", metavar="FILE"
        ),
    ] = None,
    workload: Annotated[
        list[str] | None, typer.Option(help="One of them; repeatable.", metavar="UUID")
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(
            help="What paths of safetensors files begin at; default: the workloads' folder.",
            metavar="DIR",
        ),
    ] = None,
    together: Annotated[
        bool, typer.Option("--together", help="One problem file on all of the workloads.")
    ] = False,
    by_name: Annotated[
        bool,
        typer.Option(
            "--by-name",
            help="Draw random inputs as SOL-ExecBench does, by their names: masks, norms, weights.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Make KernelBench problem files of a definition in FlashInfer's trace format."""
    from experiments.cli.commands.from_definition import from_definition as make

    make(
        definition,
        out=out,
        workloads=workloads,
        chosen=workload or (),
        root=root,
        together=together,
        by_name=by_name,
        as_json=json,
    )


declare(app, synthesise)
declare(app, from_definition)
