"""What installers put into a folder, by the list that each distribution leaves there (RECORD)."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator
from pathlib import Path

_CACHE = "__pycache__"
_SITES = frozenset({"site-packages", "dist-packages"})


def importable_from(entry: Path) -> list[Path]:
    """What of an import folder belongs to packages.

    All of a folder that is named as only installers name theirs. Of any other, such as one given
    to ``pip install --target``, only what distributions were installed as: files of the user's may
    lie beside them.
    """
    return [entry] if entry.name in _SITES else sorted({entry / name for name in _names(entry)})


def _names(folder: Path) -> Iterator[str]:
    for record in folder.glob("*.dist-info/RECORD"):
        with (
            contextlib.suppress(OSError, UnicodeDecodeError, csv.Error),
            record.open(encoding="utf-8", newline="") as stream,
        ):
            for row in csv.reader(stream):
                parts = Path(row[0]).parts if row else ()
                if not parts or parts[0] in ("..", "/"):
                    continue
                # Compiled modules of others lie in the same folder.
                yield str(Path(*parts[:2])) if parts[0] == _CACHE else parts[0]
