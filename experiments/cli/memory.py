"""`memory`: what was learned over all runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.declaring import PlainCommand, PlainGroup
from experiments.cli.options import Json

app = typer.Typer(
    cls=PlainGroup,
    name="memory",
    no_args_is_help=True,
    help="What was learned over all runs.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
Memory = Annotated[Path | None, typer.Option(help="The memory; default: yours.")]


@app.command("tools", cls=PlainCommand)
def memory_tools(
    memory: Memory = None,
    gpu: Annotated[str | None, typer.Option(help="Only this GPU, by its full name.")] = None,
    proposer: Annotated[str | None, typer.Option(help="Only this proposer.")] = None,
    json: Json = False,
) -> None:
    """Show what each micro-tool's advice was worth: how often followed, and with what gain."""
    from experiments.cli.commands.memory import tools

    tools(memory=memory, gpu=gpu, proposer=proposer, as_json=json)


@app.command("show", cls=PlainCommand)
def memory_show(
    memory: Memory = None,
    task: Annotated[str | None, typer.Option(help="Only what this task taught.")] = None,
    method: Annotated[str | None, typer.Option(help="Only this method, by its id.")] = None,
    besides: Annotated[str | None, typer.Option(help="All but what this task taught.")] = None,
    every_state: Annotated[
        bool, typer.Option("--every-state", help="Tell states apart by all that is known of them.")
    ] = False,
    json: Json = False,
) -> None:
    """Show what each method brought in which performance state, and what is expected of it."""
    from experiments.cli.commands.memory import show

    show(
        memory=memory,
        task=task,
        method=method,
        besides=besides,
        every_state=every_state,
        as_json=json,
    )


@app.command("export", cls=PlainCommand)
def memory_export(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="New file; - prints.")],
    memory: Memory = None,
    task: Annotated[str | None, typer.Option(help="Only what this task taught.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE.")] = False,
) -> None:
    """Write what was learned as JSON lines, to be imported elsewhere."""
    from experiments.cli.commands.memory import export

    export(target, memory=memory, task=task, force=force)


@app.command("import", cls=PlainCommand)
def memory_import(
    sources: Annotated[list[Path], typer.Argument(metavar="FILE...", help="- reads the input.")],
    memory: Memory = None,
) -> None:
    """Add what others exported; what is known already changes nothing."""
    from experiments.cli.commands.memory import import_

    import_(sources, memory=memory)


@app.command("learn", cls=PlainCommand)
def memory_learn(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    memory: Memory = None,
) -> None:
    """Add what runs came to that had no memory, or another one."""
    from experiments.cli.commands.memory import learn

    learn(runs, memory=memory)


@app.command("forget", cls=PlainCommand)
def memory_forget(
    memory: Memory = None,
    run: Annotated[str | None, typer.Option(help="What this run taught, by its run_id.")] = None,
    task: Annotated[str | None, typer.Option(help="What this task taught.")] = None,
    method: Annotated[str | None, typer.Option(help="What is known of this method.")] = None,
    older_than: Annotated[
        float | None,
        typer.Option(min=0, metavar="DAYS", help="What came in more than so many days ago."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything, tools included.")] = False,
) -> None:
    """Delete what was learned, if it matches all the given options."""
    from experiments.cli.commands.memory import forget

    forget(
        memory=memory,
        run=run,
        task=task,
        method=method,
        older_than_days=older_than,
        everything=everything,
    )
