"""The command line: commands and their options. `experiments.cli.commands` has what they do.

Only typer is imported here; everything else is imported when a command needs it.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import Annotated

import typer

from experiments.cli import (
    attribute,
    cutlass,
    dataset,
    deliver,
    kernelbench,
    measure,
    memory,
    search,
    show,
    skill,
    study,
    tasks,
)
from experiments.cli.errors import INTERRUPTED, OneLine, open_streams, output_written

app = typer.Typer(
    name="rooftree",
    cls=OneLine,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from experiments.runs.wiring.resolving import rooftree_version

        typer.echo(f"rooftree {rooftree_version()}")
        raise typer.Exit


@app.callback()
def rooftree(
    debug: Annotated[bool, typer.Option(help="Show tracebacks instead of one line.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Finds faster CUDA kernels by Monte Carlo tree search."""


for commands in (search, study, attribute, measure, show, deliver):
    commands.register(app)
for group in (tasks, memory, kernelbench, skill, cutlass, dataset):
    app.add_typer(group.app)


_COLLECTED_AT = (100_000, 20, 100)
"""Thresholds of the garbage collector: by Python's own, it takes a third of the time in which a
journal of 100,000 events is read, and finds nothing."""


def main() -> None:
    """The entry point of the command `rooftree`.

    After an interrupt the process ends at once: a thread that waits for a model's answer would
    otherwise delay it for minutes, and the journal is already whole. A terminal whose encoding
    lacks arrows and µ gets question marks, not an error.
    """
    open_streams()
    gc.set_threshold(*_COLLECTED_AT)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        with output_written():
            app()
    except KeyboardInterrupt:  # before any command began
        os._exit(INTERRUPTED)
    except SystemExit as done:
        if done.code == INTERRUPTED:
            # The traceback of a study holds its process pool, whose semaphores Python would report
            # as leaked. Freeing them takes two passes.
            done.__context__ = None
            gc.collect()
            gc.collect()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        raise
