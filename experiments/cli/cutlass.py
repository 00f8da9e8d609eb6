"""`cutlass`: look things up in CUTLASS's source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.declaring import PlainCommand, PlainGroup
from experiments.cli.options import Json

app = typer.Typer(
    cls=PlainGroup,
    name="cutlass",
    no_args_is_help=True,
    help="Look things up in CUTLASS's source, as a model does.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
Root = Annotated[
    Path | None,
    typer.Option(help="A CUTLASS tree; default: the one of an installed nvidia-cutlass."),
]
Symbol = Annotated[str, typer.Argument(help="A name, with or without its scope.")]


@app.command("index", cls=PlainCommand)
def cutlass_index(
    path: Annotated[
        Path | None,
        typer.Argument(help="A CUTLASS tree; default: the one of an installed nvidia-cutlass."),
    ] = None,
    root: Annotated[Path | None, typer.Option(hidden=True)] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Rebuild a fresh index too.")] = False,
    json: Json = False,
) -> None:
    """Build the tree's index if it is missing or stale, and say what it holds."""
    from experiments.cli.commands.cutlass import index

    index(root=path or root, rebuild=rebuild, as_json=json)


@app.command("search", cls=PlainCommand)
def cutlass_search(
    query: Annotated[str, typer.Argument(help="Words or identifiers; no operators.")],
    kind: Annotated[
        str | None,
        typer.Option(
            help="Only struct, function, kernel, macro, alias, enum, variable, concept, file, doc "
            "or example."
        ),
    ] = None,
    path: Annotated[str | None, typer.Option(help="Only files whose path contains this.")] = None,
    root: Root = None,
    json: Json = False,
) -> None:
    """Find the places that answer a question, best first."""
    from experiments.cli.commands.cutlass import search

    search(query, kind=kind, path=path, root=root, as_json=json)


@app.command("read", cls=PlainCommand)
def cutlass_read(
    path: Annotated[str, typer.Argument(help="A file, relative to the tree.")],
    lines: Annotated[str | None, typer.Argument(help="Such as 120 or 120-180.")] = None,
    root: Root = None,
    json: Json = False,
) -> None:
    """Print lines of a file."""
    from experiments.cli.commands.cutlass import read

    read(path, lines, root=root, as_json=json)


@app.command("define", cls=PlainCommand)
def cutlass_define(symbol: Symbol, root: Root = None, json: Json = False) -> None:
    """Show where a symbol is defined."""
    from experiments.cli.commands.cutlass import define

    define(symbol, root=root, as_json=json)


@app.command("uses", cls=PlainCommand)
def cutlass_uses(symbol: Symbol, root: Root = None, json: Json = False) -> None:
    """Show where a symbol is used, examples first."""
    from experiments.cli.commands.cutlass import uses

    uses(symbol, root=root, as_json=json)


@app.command("example", cls=PlainCommand)
def cutlass_example(
    concept: Annotated[
        str | None, typer.Argument(help="Such as 'TMA load'; without one, all are listed.")
    ] = None,
    root: Root = None,
    json: Json = False,
) -> None:
    """Show where a concept lives, and an example."""
    from experiments.cli.commands.cutlass import example, list_concepts

    if concept is None:
        list_concepts(as_json=json)
    else:
        example(concept, root=root, as_json=json)
