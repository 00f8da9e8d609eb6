"""The way from the user's source to the best kernel, as a patch that `git apply` takes."""

from __future__ import annotations

import difflib
from pathlib import Path

from experiments.deliverables.best import Delivery
from experiments.runs.tasks.files import bundled, read_task_file

_NO_NEWLINE = "\\ No newline at end of file"


def unified_patch(before: str, after: str, *, path: str) -> str:
    """A unified diff between two texts of the file `path`; empty if they are equal.

    Lines end at a line feed alone, as git sees them, and a missing last one is said so.
    """
    if before == after:
        return ""
    lines = [f"--- a/{path}\n", f"+++ b/{path}\n"]
    diff = difflib.unified_diff(_lines(before), _lines(after), n=3)
    lines += [
        line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}\n" for line in list(diff)[2:]
    ]
    return "".join(lines)


def source_patch(delivery: Delivery) -> str:
    """The patch against the source that the run began with; empty if nothing changed, or if it
    began with no file of the user's.
    """
    path = patched_path(delivery)
    if path is None:
        return ""
    return unified_patch(delivery.task.baseline.source, delivery.kernel.text, path=path)


def patched_path(delivery: Delivery) -> str | None:
    """What the user's file is called in a patch: from the top of its git work tree, else its name.

    None if there is no such file: the task is a recording, or began with a problem's model.
    """
    file = _users_file(delivery)
    if file is None:
        return None
    if delivery.config.task in bundled() or not file.is_file():
        return file.name
    whole = file.resolve()
    top = _work_tree(whole.parent)
    return whole.relative_to(top).as_posix() if top else file.name


def changed_since(delivery: Delivery) -> bool:
    """Whether the user's file is no longer what the run began with."""
    file = _users_file(delivery)
    if file is None or delivery.config.task in bundled() or not file.is_file():
        return False
    return file.read_bytes() != delivery.task.baseline.source.encode()


def _users_file(delivery: Delivery) -> Path | None:
    """Where the source lay that the run began with: the task folder's, or that of ``--kernel``."""
    if delivery.source.folder is not None:
        return Path(delivery.config.task) / read_task_file(delivery.source.folder).kernel
    return delivery.config.judging.kernel


def _work_tree(folder: Path) -> Path | None:
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


def _lines(text: str) -> list[str]:
    return [f"{line}\n" for line in text.split("\n")[:-1]] + (
        [text.rpartition("\n")[2]] if not text.endswith("\n") and text else []
    )
