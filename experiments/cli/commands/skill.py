"""`skill export`: a folder that teaches a coding agent to use the judge."""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from mcts.errors import InputError

SKILL_FILE = "SKILL.md"
SCRIPTS = ("evaluate.sh", "verify.sh", "inspect.sh")
_MOST_NAME = 64


def export(folder: Path, *, force: bool) -> list[Path]:
    """Write the skill into `folder`; returns the files.

    The skill is named after the folder, as the format of agent skills requires. With `force` our
    files are replaced and others stay. InputError if `folder` is a file, or if it is not empty and
    `force` is not given.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: name a new folder")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise InputError(f"{folder} is not empty: name a new folder, or give --force")
    template = files("experiments") / "data" / "skill"
    (folder / "scripts").mkdir(parents=True, exist_ok=True)
    skill = folder / SKILL_FILE
    skill.write_text(_text(template / SKILL_FILE).replace("@NAME@", skill_name(folder)), "utf-8")
    written = [skill]
    for name in SCRIPTS:
        path = folder / "scripts" / name
        path.write_text(_text(template / "scripts" / name), "utf-8")
        path.chmod(0o755)
        written.append(path)
    return written


def skill_name(folder: Path) -> str:
    """The folder's name in lower case, with nothing but hyphens between letters and digits."""
    name = re.sub(r"[^a-z0-9]+", "-", folder.absolute().name.lower()).strip("-")
    return name[:_MOST_NAME].strip("-") or "rooftree"


def _text(file: Traversable) -> str:
    return file.read_text(encoding="utf-8")
