"""Where tables are printed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_FILE_WIDTH = 160


def console() -> Console:
    """Standard output as rich sees it; in a pipe or a file, lines are wide rather than cut."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else _FILE_WIDTH)
