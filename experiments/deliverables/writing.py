"""Writes a run's deliverables into a folder, each whole or, with the reason, not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from codegen.dialects import writing_of
from codegen.export.naming import identifiers
from experiments.deliverables.best import Delivery
from experiments.deliverables.document import FORMAT, run_document, schema
from experiments.deliverables.explaining import explanation
from experiments.deliverables.guide import FILES, guide
from experiments.deliverables.patching import patched_path, source_patch
from experiments.deliverables.reproduction import EXPECTED, SCRIPT, expected, script, task_files
from experiments.runs.tasks.solutions import definition_of, solution_text
from mcts.errors import InputError
from mcts.files import write_whole
from mcts.formats import parse_json

README = "README.md"
SOLUTION = "solution.json"
DOCUMENT = "run.json"


@dataclass(frozen=True, slots=True)
class Written:
    """The files of an export in their order, and why others are not there."""

    files: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def deliverables(delivery: Delivery) -> Written:
    """The text of every file by its name, and what this run cannot have."""
    written = Written()
    kernel = kernel_file(delivery)
    _add(written, kernel, lambda: _source(delivery))
    _add(written, "model_new.py", lambda: _module(delivery))
    _add(
        written,
        f"{_stem(delivery)}.cuh",
        lambda: _header(delivery),
    )
    _add(written, "change.patch", lambda: _patch(delivery))
    if delivery.source.problem is not None and definition_of(delivery.task.reference or ""):
        _add(written, SOLUTION, lambda: _solution(delivery))
    try:
        files = task_files(delivery)
    except InputError as error:
        written.left_out[SCRIPT] = str(error)
    else:
        written.files[SCRIPT] = script()
        written.files[EXPECTED] = expected(delivery, kernel)
        written.files.update(files)
    written.files["why.md"] = explanation(delivery)
    document = run_document(delivery).model_dump_json(indent=1)
    written.files[DOCUMENT] = document + "\n"
    written.files["run.schema.json"] = json.dumps(schema(), indent=1) + "\n"
    written.files[README] = guide(delivery, written.files, written.left_out)
    return written


def write(written: Written, folder: Path, *, force: bool) -> list[Path]:
    """Write the files into `folder`; returns their paths.

    With `force` an earlier export there is replaced: its files that the new one does not have are
    removed, and whatever else lies in the folder stays. InputError if `folder` is a file, if it is
    not empty and `force` is not given, or if it holds anything but an earlier export.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: name a new folder")
    if folder.is_dir() and any(folder.iterdir()):
        if not force:
            raise InputError(f"{folder} is not empty: name a new folder, or give --force")
        if not _is_export(folder):
            raise InputError(f"{folder} is not an earlier export: name a new folder")
        for name in _named_by_readme(folder) - written.files.keys():
            (folder / name).unlink(missing_ok=True)
    paths = []
    # The run's document first, by which an export is known that was stopped halfway.
    for name, text in sorted(written.files.items(), key=lambda file: file[0] != DOCUMENT):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text, executable=name == SCRIPT)
        paths.append(path)
    return paths


def _is_export(folder: Path) -> bool:
    """Whether a run's document lies in the folder, as in every export of any version."""
    try:
        document = parse_json((folder / DOCUMENT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and document.get("format") == FORMAT


def _named_by_readme(folder: Path) -> set[str]:
    """The files of an earlier export in its folder, by the table of its README."""
    try:
        readme = (folder / README).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return set()
    named = set(re.findall(r"^\| `([\w.-]+)` \|", readme, re.MULTILINE))
    if SCRIPT in named:
        named.add(EXPECTED)
    return {name for name in named if _is_ours(name) and (folder / name).is_file()}


def _is_ours(name: str) -> bool:
    return name in FILES or name == EXPECTED or name.endswith(".cuh")


def kernel_file(delivery: Delivery) -> str:
    """What the best kernel's own file is called."""
    return delivery.kernel.file_name


def _stem(delivery: Delivery) -> str:
    return identifiers([delivery.task.name])[delivery.task.name]


def _add(written: Written, name: str, make: Callable[[], str]) -> None:
    try:
        written.files[name] = make()
    except InputError as error:
        written.left_out[name] = str(error)


def _source(delivery: Delivery) -> str:
    if not delivery.kernel.text:
        raise InputError("the task is a recording: its variants have values, but no source")
    return delivery.kernel.text


def _header(delivery: Delivery) -> str:
    return writing_of(delivery.kernel.dialect).header(delivery.kernel)


def _module(delivery: Delivery) -> str:
    return writing_of(delivery.kernel.dialect).module(delivery.kernel)


def _solution(delivery: Delivery) -> str:
    return solution_text(
        _module(delivery),
        delivery.task.reference or "",
        name=f"{_stem(delivery)}_rooftree_{delivery.best.id}",
        description=f"{delivery.found}; measured on {delivery.task.name} alone",
    )


def _patch(delivery: Delivery) -> str:
    if patched_path(delivery) is None:
        raise InputError(
            "a patch is made where a run begins with a file of yours: a task folder's kernel, or "
            "that of --kernel"
        )
    patch = source_patch(delivery)
    if not patch:
        raise InputError("the best kernel's source is the one that the run began with")
    return patch
