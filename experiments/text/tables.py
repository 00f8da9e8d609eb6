"""How tables are printed."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

_ENDLESS = 10_000


def width() -> int:
    """Columns to fill: the terminal's or COLUMNS; in a pipe or a file, lines are never cut."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return _ENDLESS


def print_table(table: Table) -> None:
    """Print `table` without the blanks at line ends that a copy would take along."""
    from rich.console import Console

    console = Console(width=width())
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))
