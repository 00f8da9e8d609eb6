"""The command line: options and their words. What a command does is in `experiments.commands`.

Only typer is imported here; everything else waits until a command needs it.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

INTERRUPTED = 130
_YEAR_MIN = 366 * 24 * 60


class OneLine(TyperGroup):
    """Turns what goes wrong into one line and an exit code; --debug shows where it came from."""

    def invoke(self, ctx: Any) -> Any:
        from mcts.errors import RooftreeError

        if ctx.params.get("debug"):
            return super().invoke(ctx)
        try:
            return super().invoke(ctx)
        except RooftreeError as error:
            _fail(str(error), error.exit_code)
        except KeyboardInterrupt as error:
            typer.echo(str(error) or "interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _leave_quietly()
        except OSError as error:
            _fail(_refusal(error), 2)


def _fail(message: str, code: int) -> None:
    typer.echo(f"error: {' '.join(message.splitlines())}", err=True)
    raise typer.Exit(code)


def _refusal(error: OSError) -> str:
    """A file system that refuses is the user's to mend; it names the file that was refused."""
    place = str(error.filename2 or error.filename or "the output")
    if len(place) > 120:
        place = f"{place[:60]}...{place[-40:]}"
    return f"cannot use {place}: {error.strerror or error}"


def _leave_quietly() -> None:
    """The reader of our output went away: nobody is left to tell."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(1)


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
        from experiments.wiring import rooftree_version

        typer.echo(f"rooftree {rooftree_version()}")
        raise typer.Exit


Task = Annotated[
    str,
    typer.Argument(help="A bundled task's name, a task folder, or a T4 recording.", metavar="TASK"),
]
Run = Annotated[Path, typer.Argument(help="A run folder.", metavar="RUN")]
EvaluatorOption = Annotated[
    str, typer.Option(help="Who measures: replay, gpu, auto, or a plug-in's name.")
]
RecordingOption = Annotated[
    Path | None, typer.Option(help="The T4 file to replay, instead of the task's own.")
]
Device = Annotated[int, typer.Option(min=0, help="Which GPU, as CUDA counts them.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Evaluations = Annotated[int, typer.Option(min=1, help="How many trials, failures included.")]
Minutes = Annotated[
    float | None, typer.Option(min=0.01, max=_YEAR_MIN, help="Stop after so many minutes.")
]


@app.callback()
def rooftree(
    debug: Annotated[bool, typer.Option(help="Show tracebacks instead of one line.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Finds faster CUDA kernels by Monte Carlo tree search."""


@app.command()
def optimize(
    task: Task,
    evaluator: EvaluatorOption = "auto",
    proposer: Annotated[
        str, typer.Option(help="Who proposes: scripted, llm, auto, or a plug-in's name.")
    ] = "auto",
    model: Annotated[
        str | None, typer.Option(help="A model name litellm knows; implies the llm proposer.")
    ] = None,
    api_base: Annotated[
        str | None, typer.Option(help="Address of an OpenAI-compatible server.")
    ] = None,
    recording: RecordingOption = None,
    evaluations: Evaluations = 60,
    minutes: Minutes = None,
    seed: Annotated[int, typer.Option(help="Same seed and recording, same tree.")] = 0,
    parallel: Annotated[int, typer.Option(min=1, help="Trials in flight at a time.")] = 1,
    device: Device = 0,
    search: Annotated[
        list[str] | None, typer.Option(help="A constant of the search, as NAME=NUMBER; repeatable.")
    ] = None,
    memory: Annotated[
        Path | None,
        typer.Option(help="Learn from and teach this file; default: yours, replays none."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run folder; default: the next free runs/TASK-N.")
    ] = None,
    json: Json = False,
) -> None:
    """Search for a faster kernel and hand back the best one found, with proof."""
    from experiments.commands.run import optimize as start
    from experiments.request import RunRequest, parse_settings

    start(
        RunRequest(
            task=task,
            evaluator=evaluator,
            proposer=proposer,
            recording=recording,
            model=model,
            api_base=api_base,
            evaluations=evaluations,
            minutes=minutes,
            seed=seed,
            parallel=parallel,
            device=device,
            search_settings=parse_settings(search or []),
            memory=memory,
            out=out,
            as_json=json,
        )
    )


@app.command()
def resume(
    run: Run,
    evaluations: Annotated[
        int | None, typer.Option(min=1, help="A new number of trials in all.")
    ] = None,
    minutes: Minutes = None,
    json: Json = False,
) -> None:
    """Go on with a run that was interrupted; nothing is measured twice."""
    from experiments.commands.run import resume as go_on

    go_on(run, evaluations=evaluations, minutes=minutes, as_json=json)


@app.command()
def evaluate(
    task: Task,
    files: Annotated[
        list[Path] | None, typer.Argument(help="Candidates: .cu files with a launch plan.")
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", help="A tunable's value, as NAME=VALUE; repeatable."),
    ] = None,
    evaluator: EvaluatorOption = "auto",
    recording: RecordingOption = None,
    device: Device = 0,
    seed: Annotated[int, typer.Option(help="Of a replay's draws.")] = 0,
    json: Json = False,
) -> None:
    """Verify and time candidates without a search; exit code 1 if one of them fails."""
    from experiments.commands.judge import evaluate as judge

    measured = judge(
        task,
        files or [],
        values=set or [],
        evaluator=evaluator,
        recording=recording,
        device=device,
        seed=seed,
        as_json=json,
    )
    raise typer.Exit(0 if measured else 1)


@app.command()
def inspect(
    file: Annotated[
        Path,
        typer.Argument(help="A .cu, an executable, or a report of ncu or nsys.", metavar="FILE"),
    ],
    args: Annotated[
        list[str] | None, typer.Argument(help="Arguments of a program, after --.")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="The launch plan, where the source has none in it.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="The task a kernel belongs to: its buffers and least work.")
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", help="A tunable's or macro's value, as NAME=VALUE; repeatable."),
    ] = None,
    device: Device = 0,
    replay: Annotated[
        Path | None, typer.Option(help="Recorded profiles to answer from, instead of a GPU.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Keep what was measured in this file, for --replay.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Draw the roofline to FILE.svg.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Findings to show, of each kernel.")] = 5,
    arch: Annotated[
        str | None, typer.Option(help="Compile for this, as sm_90; default: the GPU's own.")
    ] = None,
    timeout_s: Annotated[
        float, typer.Option(min=1, max=86400, help="Seconds a program may take.")
    ] = 60.0,
    json: Json = False,
) -> None:
    """Say what is slow in a kernel or a program, and what to do about it."""
    from experiments.commands.inspect import inspect as look
    from experiments.inspection.request import InspectRequest

    look(
        InspectRequest(
            file=file,
            plan=plan,
            task=task,
            values=tuple(set or ()),
            device=device,
            replay=replay,
            save=save,
            out=out,
            limit=limit,
            arch=arch,
            timeout_s=timeout_s,
            as_json=json,
            args=tuple(args or ()),
        )
    )


@app.command()
def record(
    task: Task,
    out: Annotated[
        Path | None, typer.Option(help="The T4 file to write; default: TASK.json.gz.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="An even choice of so many configurations.")
    ] = None,
    parallel: Annotated[int, typer.Option(min=1, help="Compilations at a time.")] = 8,
    profile: Annotated[bool, typer.Option(help="Collect hardware counters too.")] = True,
    device: Device = 0,
) -> None:
    """Measure a task's whole tunable space on a GPU, for replay; a stopped recording goes on."""
    from experiments.commands.record import record as measure

    measure(task, out=out, limit=limit, parallel=parallel, device=device, profile=profile)


@app.command()
def new(
    folder: Annotated[Path, typer.Argument(help="The folder to make.", metavar="DIR")],
) -> None:
    """Make a commented task folder to start one's own kernel from."""
    import shlex

    from experiments.scaffold import new_task

    for path in new_task(folder):
        typer.echo(str(path))
    typer.echo(f"next: rooftree optimize {shlex.quote(str(folder))}")


@app.command()
def tree(
    run: Run,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="FILE.svg, .png, .pdf or .dot.")
    ] = None,
    max_nodes: Annotated[int, typer.Option(min=1, help="Fold what is beyond.")] = 300,
) -> None:
    """Draw a run's search tree, also while it runs."""
    from experiments.commands.show import tree as draw

    draw(run, out=out, max_nodes=max_nodes)


@app.command()
def report(run: Run) -> None:
    """Write a run's report and best kernel, also while it runs."""
    from experiments.commands.show import report as write

    write(run)


@app.command()
def tasks(json: Json = False) -> None:
    """List the bundled tasks and what is recorded of them."""
    from experiments.commands.show import tasks as show

    show(as_json=json)


@app.command()
def doctor(json: Json = False) -> None:
    """Say what this machine has: GPU, compilers, profilers, sandbox, keys by name only."""
    from experiments.commands.show import doctor as examine

    raise typer.Exit(0 if examine(as_json_object=json) else 1)


@app.command()
def clinic(
    half: Annotated[str, typer.Option(help="tuning, held_out or all.")] = "held_out",
    recording: Annotated[
        Path | None, typer.Option(help="Profiles to replay, instead of the bundled ones.")
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Profile on this GPU instead.")] = False,
    record: Annotated[
        Path | None, typer.Option(help="Profile on this GPU and keep the profiles here.")
    ] = None,
    cases: Annotated[bool, typer.Option("--cases", help="List every kernel too.")] = False,
    device: Device = 0,
    json: Json = False,
) -> None:
    """Measure the tools: precision and recall on kernels with known bottlenecks."""
    from experiments.commands.clinic import clinic as examine

    examine(
        half=half,
        recording=recording,
        live=live,
        record=record,
        device=device,
        cases=cases,
        as_json=json,
    )


memory_app = typer.Typer(
    name="memory",
    no_args_is_help=True,
    help="What was learned over all runs.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(memory_app)


@memory_app.command("tools")
def memory_tools(
    memory: Annotated[Path | None, typer.Option(help="The memory; default: yours.")] = None,
    gpu: Annotated[str | None, typer.Option(help="Only this GPU, by its full name.")] = None,
    proposer: Annotated[str | None, typer.Option(help="Only this proposer.")] = None,
    json: Json = False,
) -> None:
    """Show what each micro-tool's advice was worth: how often followed, and with what gain."""
    from experiments.commands.memory import tools

    tools(memory=memory, gpu=gpu, proposer=proposer, as_json=json)


def main() -> None:
    """The entry point of the command `rooftree`.

    After an interrupt the process ends at once: a thread that waits for a model's answer would
    otherwise hold it up for minutes, and the journal is already whole. A terminal that knows no
    arrows and no µ gets question marks, not an error.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except SystemExit as done:
        if done.code == INTERRUPTED:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        raise
