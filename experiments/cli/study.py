"""`study`, `compare`, `expansions`: tell which way of searching is better, with statistics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.declaring import Taken, declare
from experiments.cli.options import Json

if TYPE_CHECKING:
    from mcts.options import JudgingOptions, ModelOptions


_MODEL = Taken(
    "api_base",
    "queue",
    "prices",
    "timeout_s",
    "retries",
    api_base={"help": "For a study with a model: address of an OpenAI-compatible server."},
)
_JUDGING = Taken(
    "evaluator",
    "device",
    "devices",
    "wait_minutes",
    "unsafe",
    evaluator={"help": "Who measures for a study with a model; default: as the study says."},
)


def register(app: typer.Typer) -> None:
    """Add the commands to the program, in the order in which help lists them."""
    declare(app, study, compare, expansions)


def study(
    config: Annotated[
        str,
        typer.Argument(help="The study, as TOML; or a bundled one's name.", metavar="CONFIG"),
    ],
    model: Annotated[ModelOptions, _MODEL],
    judging: Annotated[JudgingOptions, _JUDGING],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Its folder; default: studies/NAME.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Runs at a time, one per core by default; or questions, 64."),
    ] = None,
    reuse: Annotated[
        list[Path] | None,
        typer.Option(
            help="For a study with a model: another one's folder, whose answers and measurements "
            "are taken over where this one asks or measures the same. May be repeated.",
            metavar="STUDY",
        ),
    ] = None,
    replay: Annotated[
        bool,
        typer.Option(
            "--replay",
            help="CONFIG is a folder of a study with a model: take its steps again from what it "
            "holds, without model and GPU, and compare.",
        ),
    ] = False,
) -> None:
    """Compare ways of searching, or what a model is told; a second call continues a stopped
    study.
    """
    from experiments.cli.commands.study import study as run

    run(config, out=out, jobs=jobs, model=model, judging=judging, reuse=reuse or (), replay=replay)


def compare(
    folders: Annotated[
        list[str],
        typer.Argument(
            help="A study's folder; or run folders, each as it is or as LABEL=RUN.",
            metavar="STUDY|RUN",
        ),
    ],
    reference: Annotated[
        str | None,
        typer.Option(help="The arm to compare with; default: the study's own, or the first run's."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The page of runs; default: compare.html.")
    ] = None,
    json: Json = False,
) -> None:
    """Say what a study found, or how runs compare: final speedups, cost, wins, anytime curves."""
    from experiments.cli.commands.compare import compare as show

    show(folders, reference=reference, out=out, as_json=json)


def expansions(
    given: Annotated[
        list[str],
        typer.Argument(
            help="A file to show, or a bundled one's name; with -o, what to collect.",
            metavar="FILE|RUN...",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Collect runs, and files of some, in this FILE.jsonl.gz."),
    ] = None,
    json: Json = False,
) -> None:
    """Collect what runs proposed, for studies that need no model; show what was collected."""
    from experiments.cli.commands.expansions import expansions as collect

    collect(given, out=out, as_json=json)
