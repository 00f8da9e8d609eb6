"""Paths that a study's file names."""

from __future__ import annotations

import os
from pathlib import Path

from mcts.errors import InputError


def place_of(given: str, folder: Path) -> Path:
    """The path, from the folder of the study's file if it exists there.

    InputError for what can be no path. Whether there is something is not looked at.
    """
    if "\0" in given:
        raise InputError(f"{given!r} is no path")
    if os.path.exists(folder / given):  # noqa: PTH110  no name is too long for it
        return (folder / given).resolve()
    return Path(given).absolute()
