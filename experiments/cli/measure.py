"""`check`, `evaluate`, `inspect`, `record`: a task and its kernels without a search."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.declaring import Taken, declare
from experiments.cli.options import Json, Task

if TYPE_CHECKING:
    from mcts.options import JudgingOptions, ModelOptions, SearchOptions

_OPINION = Taken(
    "name",
    "api_base",
    "queue",
    "timeout_s",
    "retries",
    name={"help": "The model to ask for a second opinion."},
)


def register(app: typer.Typer) -> None:
    """Add the commands to the program, in the order in which help lists them."""
    declare(app, check, evaluate, inspect, record)


def check(
    task: Task,
    variants: Annotated[
        int, typer.Option(min=1, max=4096, help="Variants to compile, the defaults first.")
    ] = 12,
    arch: Annotated[str, typer.Option(help="Compile for this, as sm_90a.")] = "sm_90a",
    seed: Annotated[int, typer.Option(help="Draws the variants.")] = 0,
    json: Json = False,
) -> None:
    """Say what is wrong with a task without a GPU; exit code 1 if anything is."""
    from experiments.cli.commands.check import check as do_check

    good = do_check(task, variants=variants, arch=arch, seed=seed, as_json=json)
    raise typer.Exit(0 if good else 1)


def evaluate(
    task: Task,
    judging: Annotated[JudgingOptions, Taken(without=("wait_minutes", "dialect", "kernel"))],
    search: Annotated[SearchOptions, Taken("seed", seed={"help": "Seed of a replay's draws."})],
    model: Annotated[ModelOptions, _OPINION],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Candidates: .cu with a launch plan, or, for a KernelBench problem, .py with a "
            "ModelNew and .cu with a launcher."
        ),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", help="A tunable's value, as NAME=VALUE; repeatable."),
    ] = None,
    energy: Annotated[
        bool, typer.Option("--energy", help="Measure the energy of a call too; takes seconds.")
    ] = False,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            help="Another candidate, in place of the task's baseline: speedups are over it. With "
            "--suite, a folder of them.",
        ),
    ] = None,
    suite: Annotated[
        Path | None,
        typer.Option(
            "--suite",
            help="A folder of candidates for many problems; TASK is then a KernelBench checkout or "
            "one of its levels.",
            metavar="DIR",
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            help="With --suite, keep each verdict in this file; what it holds is not judged again.",
        ),
    ] = None,
    second_opinion: Annotated[
        bool,
        typer.Option(
            "--second-opinion",
            help="Ask --model whether the code is honest: a remark beside the judge's verdict.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Verify and time candidates without a search; exit code 1 if one of them fails."""
    from experiments.cli.commands.judge import evaluate as do_evaluate
    from mcts.errors import InputError

    if model.name is not None and not second_opinion:
        raise InputError("--model does nothing without --second-opinion")
    if suite is not None:
        from experiments.cli.commands.judge_suite import evaluate_suite

        if files or set or energy or second_opinion:
            raise InputError("--suite takes no files, --set, --energy or --second-opinion")
        measured = evaluate_suite(
            Path(task),
            suite,
            judging=judging,
            seed=search.seed,
            against=against,
            kept=results,
            as_json=json,
        )
        raise typer.Exit(0 if measured else 1)
    if results is not None:
        raise InputError("--results does nothing without --suite")
    measured = do_evaluate(
        task,
        files or [],
        values=set or [],
        judging=judging,
        seed=search.seed,
        energy=energy,
        against=against,
        asked=model if second_opinion else None,
        as_json=json,
    )
    raise typer.Exit(0 if measured else 1)


def inspect(
    file: Annotated[
        Path,
        typer.Argument(
            help="A .cu, a .py, an executable, or a report of ncu or nsys.", metavar="FILE"
        ),
    ],
    judging: Annotated[JudgingOptions, Taken("device")],
    args: Annotated[
        list[str] | None,
        typer.Argument(
            help="A second file to look at beside the first; of a program, its arguments, after --."
        ),
    ] = None,
    beside: Annotated[
        Path | None, typer.Option(help="The second file, where the first takes arguments.")
    ] = None,
    sass: Annotated[
        bool, typer.Option("--sass", help="Print the machine code below its source lines.")
    ] = False,
    what_if: Annotated[
        bool,
        typer.Option(
            "--what-if", help="Say what one repair after another would gain, and what limits then."
        ),
    ] = False,
    plan: Annotated[
        Path | None, typer.Option(help="The launch plan, if the source has none.")
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(help="A kernel's task: its buffers and least work; a ModelNew's problem."),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", help="A tunable's or macro's value, as NAME=VALUE; repeatable."),
    ] = None,
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
    """Say what is slow in a kernel, a PyTorch model or a program, and what to do about it."""
    from experiments.cli.commands.inspect import inspect as do_inspect
    from experiments.inspect.request import InspectRequest
    from experiments.inspect.targets import second_file

    rest = tuple(args or ())
    other = beside or second_file(file, rest, planned=plan is not None)
    do_inspect(
        InspectRequest(
            file=file,
            beside=other,
            sass=sass,
            what_if=what_if,
            plan=plan,
            task=task,
            values=tuple(set or ()),
            device=judging.device,
            replay=replay,
            save=save,
            out=out,
            limit=limit,
            arch=arch,
            timeout_s=timeout_s,
            as_json=json,
            args=() if other is not None and beside is None else rest,
        )
    )


def record(
    task: Task,
    judging: Annotated[
        JudgingOptions,
        Taken(
            "evaluator",
            "device",
            "devices",
            "wait_minutes",
            evaluator={"default": "gpu", "help": "Who measures: gpu, dask:ADDRESS or a plug-in's."},
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="The T4 file to write; default: TASK.json.gz."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Measure only so many configurations, evenly chosen.")
    ] = None,
    parallel: Annotated[int, typer.Option(min=1, help="Compilations at a time on each GPU.")] = 8,
    profile: Annotated[bool, typer.Option(help="Collect hardware counters too.")] = True,
) -> None:
    """Measure a task's whole tunable space on a GPU, for replay; continue a stopped recording."""
    from experiments.cli.commands.record import record as do_record

    do_record(task, out=out, limit=limit, parallel=parallel, judging=judging, profile=profile)
