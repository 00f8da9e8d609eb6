"""`optimize`, `resume`, `recover`, `watch`, `serve`: search, and look at searches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.declaring import Taken, declare
from experiments.cli.options import OUTPUT, Json, Plain, Quiet, Run, Task, display_of

if TYPE_CHECKING:
    from mcts.options import JudgingOptions, Limits, ModelOptions, SearchOptions


def register(app: typer.Typer) -> None:
    """Add the commands to the program, in the order in which help lists them."""
    declare(app, optimize, resume, recover, watch, serve)


def optimize(
    task: Task,
    judging: JudgingOptions,
    search: Annotated[
        SearchOptions,
        Taken(algorithm={"help": _search_help()}, proposer={"help": _proposer_help()}),
    ],
    model: ModelOptions,
    limits: Limits,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="The run folder; default: the next free runs/TASK-N.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    attribute: Annotated[
        bool,
        typer.Option(
            "--attribute",
            help="At the end, say what each method of the best is worth.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    plain: Plain = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Search for a faster kernel and hand back the best one found, with proof."""
    from experiments.app.optimize import optimize as do_optimize
    from experiments.runs.options.request import RunRequest

    display = display_of(plain=plain, quiet=quiet)
    request = RunRequest(
        task=task,
        judging=judging,
        search=search,
        model=model,
        limits=limits,
        out=out,
        as_json=json,
    )
    do_optimize(request, attribute=attribute, display=display)


def _search_help() -> str:
    """The help of ``--search``; called when the command is built."""
    from experiments.runs.options import names

    return (
        f"Which search ({', '.join(names.ours(names.SEARCHES))}, or a plug-in's), and its "
        "constants, as NAME=NUMBER; repeatable."
    )


def _proposer_help() -> str:
    from experiments.runs.options import names

    return f"Who proposes: auto, {', '.join(names.ours(names.PROPOSERS))}, or a plug-in's name."


def resume(
    run: Run,
    limits: Annotated[
        Limits, Taken(evaluations={"default": None, "help": "A new number of trials in all."})
    ],
    model: Annotated[
        ModelOptions,
        Taken(
            "prices",
            "timeout_s",
            timeout_s={"default": None, "help": "Seconds a request may take from now on."},
        ),
    ],
    judging: Annotated[
        JudgingOptions,
        Taken("device", "devices", device={"default": None, "help": "On which GPU from now on."}),
    ],
    plain: Plain = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Continue an interrupted run; nothing is measured or paid for twice."""
    from experiments.app.optimize import resume as do_resume

    do_resume(
        run,
        limits=limits,
        model=model,
        judging=judging,
        as_json=json,
        display=display_of(plain=plain, quiet=quiet),
    )


def recover(
    run: Run,
    out: Annotated[Path, typer.Argument(help="The folder to make.", metavar="NEW_RUN")],
) -> None:
    """Copy a run whose journal is damaged, with all that stands before the damage."""
    from experiments.cli.commands.recover import recover as do_recover

    do_recover(run, out)


def watch(run: Run, plain: Plain = False) -> None:
    """Watch a search that runs elsewhere, until it ends; Ctrl-C ends the watching alone."""
    from experiments.cli.commands.watch import watch as do_watch

    raise typer.Exit(0 if do_watch(run, plain=plain) else 1)


def serve(
    folder: Annotated[Path, typer.Argument(help="Where runs lie.", metavar="FOLDER")] = Path(
        "runs"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0: one that is free.")] = 0,
) -> None:
    """Show the runs of a folder in a browser, on this machine alone; Ctrl-C ends it."""
    from experiments.cli.commands.serve import serve as do_serve

    do_serve(folder, port=port)
