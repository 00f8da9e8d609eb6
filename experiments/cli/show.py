"""`new`, `tree`, `report`, `runs`, `plugins`, `doctor`, `clinic`: start a task, show what
there is.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.declaring import Taken, declare
from experiments.cli.options import Json, Run

if TYPE_CHECKING:
    from mcts.options import JudgingOptions


def register(app: typer.Typer) -> None:
    """Add the commands to the program, in the order in which help lists them."""
    declare(app, new, tree, report, runs, plugins, doctor, clinic)


def new(
    folder: Annotated[Path, typer.Argument(help="The folder to make.", metavar="DIR")],
) -> None:
    """Make a commented task folder to start one's own kernel from."""
    from experiments.cli.commands.show import new as make

    make(folder)


def tree(
    run: Run,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="FILE.svg, .png, .pdf or .dot.")
    ] = None,
    max_nodes: Annotated[
        int, typer.Option(min=1, help="Boxes to draw; what is beyond is folded into stubs.")
    ] = 120,
) -> None:
    """Draw a run's search tree, also while it runs."""
    from experiments.cli.commands.show import tree as draw

    draw(run, out=out, max_nodes=max_nodes)


def report(
    run: Run,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write the report alone to FILE.html.")
    ] = None,
) -> None:
    """Write a run's report and best kernel, also while it runs."""
    from experiments.cli.commands.show import report as write

    write(run, out=out)


def runs(
    folder: Annotated[Path, typer.Argument(help="Where to look.", metavar="FOLDER")] = Path("runs"),
    json: Json = False,
) -> None:
    """List the runs below a folder: state, best, cost; the latest first."""
    from experiments.cli.commands.listing import runs as show

    show(folder, as_json=json)


def plugins(json: Json = False) -> None:
    """List proposers, evaluators, searches and micro-tools; exit code 1 if one is broken."""
    from experiments.cli.commands.listing import plugins as show

    raise typer.Exit(0 if show(as_json=json) else 1)


def doctor(json: Json = False) -> None:
    """Say what this machine has: GPU, compilers, profilers, sandbox, keys by name only."""
    from experiments.cli.commands.show import doctor as examine

    raise typer.Exit(0 if examine(as_json_object=json) else 1)


def clinic(
    judging: Annotated[JudgingOptions, Taken("device", "devices")],
    kernels: Annotated[
        str,
        typer.Option(
            "--set", help="Which kernels: clinic, causes, unseen, or a folder with a truth.toml."
        ),
    ] = "clinic",
    half: Annotated[
        str | None,
        typer.Option(
            help="tuning, held_out or all; default: held_out, all of a set of which none is."
        ),
    ] = None,
    recording: Annotated[
        Path | None, typer.Option(help="Profiles to replay, instead of the bundled ones.")
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Profile on this GPU instead.")] = False,
    record: Annotated[
        Path | None, typer.Option(help="Profile on this GPU and keep the profiles here.")
    ] = None,
    cases: Annotated[bool, typer.Option("--cases", help="List every kernel too.")] = False,
    json: Json = False,
) -> None:
    """Measure the tools: precision and recall on kernels with known bottlenecks."""
    from experiments.cli.commands.clinic import clinic as examine

    examine(
        kernels=kernels,
        half=half,
        recording=recording,
        live=live,
        record=record,
        judging=judging,
        cases=cases,
        as_json=json,
    )
