"""`rooftree dataset`: training sets out of judged runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.declaring import PlainCommand, PlainGroup
from experiments.cli.options import Json

app = typer.Typer(
    cls=PlainGroup,
    name="dataset",
    no_args_is_help=True,
    help="Training sets out of a model's judged replies.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command("export", cls=PlainCommand)
def dataset_export(
    given: Annotated[
        list[Path],
        typer.Argument(
            help="Runs of a model, folders of runs as studies and suites; and tapes of them.",
            metavar="RUN|STUDY|TAPE...",
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder to write.", metavar="DIR")],
    license: Annotated[
        str, typer.Option(help="Whose the tasks and replies are, for the card.")
    ] = "",
    test_share: Annotated[
        float,
        typer.Option(
            min=0, max=0.9, help="Share of the replies to test with, families of tasks held whole."
        ),
    ] = 0.2,
    seed: Annotated[int, typer.Option(help="Draws the families to test with.")] = 0,
    json: Json = False,
) -> None:
    """Write what a model replied, with its verdicts, as Parquet: for supervised training,
    preferences, GRPO's groups and contrastive prompts.
    """
    from experiments.cli.commands.dataset import export as write

    write(given, out=out, licence=license, test_share=test_share, seed=seed, as_json=json)


@app.command("show", cls=PlainCommand)
def dataset_show(
    folder: Annotated[Path, typer.Argument(help="An export.", metavar="DIR")],
    json: Json = False,
) -> None:
    """Say what an export holds, after every row of it was read."""
    from experiments.cli.commands.dataset import show as tell

    tell(folder, as_json=json)
