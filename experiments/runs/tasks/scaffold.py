"""`rooftree new`: a commented task folder that works as it stands, for the user to edit."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from experiments.runs.tasks.files import bundled
from experiments.runs.tasks.names import plain_name
from mcts.errors import InputError

KERNEL_FILE = "kernel.cu"
TEMPLATE_FILES = ("task.toml", KERNEL_FILE, "reference.py")


def new_task(folder: Path) -> list[Path]:
    """Write the template into `folder`; returns the files.

    InputError if `folder` is a file, is not empty, or has the name of a bundled task.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: name a new folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty: name a new folder")
    if str(folder) in bundled():
        raise InputError(f"{folder} is the name of a bundled task: choose another name")
    name = plain_name(folder.absolute().name, otherwise="my_kernel")
    templates = files("experiments") / "data" / "templates"
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for file in TEMPLATE_FILES:
        text = (templates / file).read_text(encoding="utf-8").replace("@NAME@", name)
        (folder / file).write_text(text, encoding="utf-8")
        written.append(folder / file)
    return written
