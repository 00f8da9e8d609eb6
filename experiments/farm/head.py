"""What a job folder begins with: its format, its lease, and who may write to it."""

from __future__ import annotations

import stat
from pathlib import Path

from pydantic import Field, ValidationError

from experiments.farm import files
from mcts.domain import Noun, first_problem
from mcts.errors import InputError

FORMAT = 1
LEASE_S = 60.0
HEAD_NAME = "farm.json"


class FolderHead(Noun):
    """What all who use a folder must agree on; whoever comes first writes it."""

    format: int = FORMAT
    lease_s: float = Field(default=LEASE_S, gt=0, allow_inf_nan=False)


def permissions(path: Path, *, unsafe: bool) -> int:
    """The permission bits of a folder; InputError where anybody may write to it."""
    mode = path.stat().st_mode
    if not stat.S_ISDIR(mode):
        raise InputError(f"{path} is a file: name a new or empty folder")
    if mode & stat.S_IWOTH and not unsafe:
        raise InputError(
            f"{path} can be written to by everybody on this machine, who could then run code as "
            "you: chmod o-w it, or give --unsafe"
        )
    return stat.S_IMODE(mode)


def read_head(path: Path) -> FolderHead:
    try:
        head = FolderHead.model_validate_json(files.read(path) or b"")
    except ValidationError as error:
        raise InputError(
            f"{path} is damaged, or of another version of Rooftree: {first_problem(error)}"
        ) from None
    if head.format != FORMAT:
        raise InputError(
            f"{path.parent} has format {head.format}, this Rooftree knows {FORMAT}: use the same "
            "version on all machines"
        )
    return head
