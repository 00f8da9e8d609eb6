"""Arguments and options that several commands share and no model holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Task = Annotated[
    str,
    typer.Argument(
        help="A bundled task's name, a task folder, a T4 recording, or a KernelBench problem file "
        "(to optimize: with --model).",
        metavar="TASK",
    ),
]
Run = Annotated[Path, typer.Argument(help="A run folder.", metavar="RUN")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
