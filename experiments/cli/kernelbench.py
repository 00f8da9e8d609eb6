"""`kernelbench`: many problems, and the field's metrics over them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.declaring import PlainGroup, Taken, declare
from experiments.cli.options import Json

if TYPE_CHECKING:
    from mcts.options import JudgingOptions, Limits, ModelOptions, SearchOptions

app = typer.Typer(
    cls=PlainGroup,
    name="kernelbench",
    no_args_is_help=True,
    help="Search many KernelBench problems, and score them as the benchmark does.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


_JUDGING = Taken(
    without=("recording", "kernel", "baseline"),
    dialect={"hidden": True, "help": "As for optimize; a suite takes only PyTorch."},
    includes={"help": "A folder of headers for the C++ that candidates compile; repeatable."},
)
_SEARCH = Taken(
    without=("algorithm", "objective", "finalists"),
    proposer={"help": "Who proposes: llm, auto, or a plug-in's name."},
    seed={"help": "Seed of every problem's search."},
    memory={"help": "Learn from and teach this file, or off; default: yours."},
)
_LIMITS = Taken(
    evaluations={
        "name": "--budget",
        "default": 20,
        "help": "How many trials for each problem, failures included.",
    },
    minutes={"hidden": True},
)


def run(
    root: Annotated[
        Path, typer.Option(help="A KernelBench checkout, or a folder of levels.", metavar="PATH")
    ],
    level: Annotated[int, typer.Option(min=1, help="Which level: the folder level1, say.")],
    out: Annotated[
        Path, typer.Option("-o", "--out", help="The suite's folder; a second call continues it.")
    ],
    judging: Annotated[JudgingOptions, _JUDGING],
    search: Annotated[SearchOptions, _SEARCH],
    model: ModelOptions,
    limits: Annotated[Limits, _LIMITS],
    problems: Annotated[str, typer.Option(help="Numbers and ranges, as 1,5,10-20, or all.")] = (
        "all"
    ),
    max_total_cost: Annotated[
        float | None,
        typer.Option(
            min=0.0001,
            help="Begin no further problem once all have cost so many US dollars. The other caps "
            "are for each problem.",
            metavar="USD",
        ),
    ] = None,
    no_compile: Annotated[
        bool, typer.Option("--no-compile", help="Leave torch.compile out of the figures.")
    ] = False,
    json: Json = False,
) -> None:
    """Search for a faster kernel for each problem; exit code 1 if one ended in an error."""
    from experiments.cli.commands.kernelbench import run as start
    from experiments.runs.options.request import RunRequest

    clean = start(
        root=root,
        level=level,
        problems=problems,
        request=RunRequest(task="", judging=judging, search=search, model=model, limits=limits),
        compare=not no_compile,
        max_total_cost_usd=max_total_cost,
        out=out,
        as_json=json,
    )
    raise typer.Exit(0 if clean else 1)


def report(
    folder: Annotated[Path, typer.Argument(help="A suite's folder.", metavar="DIR")],
    json: Json = False,
) -> None:
    """Show a suite's results, also while it runs, and write results.csv and results.json."""
    from experiments.cli.commands.kernelbench import report as show

    show(folder, as_json=json)


def compare(
    folders: Annotated[
        list[Path],
        typer.Argument(help="Folders of suites; the first is the reference.", metavar="DIR"),
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Also write a row for each problem and suite, as CSV."),
    ] = None,
    json: Json = False,
) -> None:
    """Say which suite found faster kernels, over the problems that all of them have."""
    from experiments.cli.commands.kernelbench import compare as show

    show(folders, out=out, as_json=json)


declare(app, run, report, compare)
