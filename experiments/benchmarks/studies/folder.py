"""A study's folder: what was asked, the tasks' facts, and a line per run.

`study.json` holds the first two, whole or not at all; `results.jsonl` is appended to, line by line,
and a line that a kill cut off is dropped. Each has a checksum, so that a changed figure is never
compared. A run is known by what determines it, so that a study
with more arms, tasks or seeds goes on from what is there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from experiments.benchmarks.studies.cell import CellResult
from experiments.benchmarks.studies.config import Study
from experiments.benchmarks.studies.recorded_task import TaskFacts
from mcts.domain import Noun, first_problem, sealed, unsealed
from mcts.errors import InputError, WorldError
from mcts.files import held, write_whole
from mcts.formats import FormatError, parse_json

FORMAT = 2
"""Format 1 had no checksums; it is still read."""
STUDY_FILE = "study.json"
RESULTS_FILE = "results.jsonl"
MIXED = "mixed"
"""In place of a hash: the runs of a study came from several states of the code."""
_LOCK = "study.lock"


class Plan(Noun):
    """A study with the facts of its tasks, in their order; `keys` are its runs'.

    `code` is a hash of the code that decides what its runs come to; empty if it is not known.
    """

    format: int = FORMAT
    rooftree: str
    code: str = ""
    study: Study
    tasks: tuple[TaskFacts, ...]
    keys: tuple[str, ...] = ()


PlanT = TypeVar("PlanT", bound=Noun)
LineT = TypeVar("LineT", bound=Noun)


class AnyStudyFolder(Generic[PlanT, LineT]):
    """Reads and writes a study's folder, of the plans and lines of one kind of study."""

    plan_type: type[PlanT]
    line_type: type[LineT]

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def held(self) -> Iterator[None]:
        """Create the folder and keep other processes from writing to it.

        InputError if one does, or if the folder holds something else.
        """
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file: name another folder with -o")
        fresh = not self.path.exists() or not any(self.path.iterdir())
        if not fresh and not (self.path / STUDY_FILE).exists() and not self._only_lock():
            raise InputError(f"{self.path} holds something else: name another folder with -o")
        self.path.mkdir(parents=True, exist_ok=True)
        message = f"{self.path} is in use by another rooftree process: wait for it"
        with held(self.path / _LOCK, message=message):
            yield

    def _only_lock(self) -> bool:
        """A study that was killed before it wrote anything."""
        return all(
            entry.name.startswith((_LOCK, STUDY_FILE, f".{STUDY_FILE}."))
            for entry in self.path.iterdir()
        )

    def write_plan(self, plan: PlanT) -> None:
        """Write down what the study is. InputError if the folder is another study's."""
        table = plan.model_dump(mode="json")
        known = _told(self.path, "name")
        if known not in (None, table["study"]["name"]):
            raise InputError(f"{self.path} holds the study {known}: name another folder with -o")
        text = json.dumps(sealed(table), indent=1, ensure_ascii=False)
        self._write(STUDY_FILE, text + "\n")

    def write(self, name: str, text: str) -> Path:
        """Write a file of the folder, whole or not at all."""
        self._write(name, text)
        return self.path / name

    def _write(self, name: str, text: str) -> None:
        write_whole(self.path / name, text)

    def plan(self) -> PlanT:
        """What the study is. InputError if the folder holds none that can be read."""
        path = self.path / STUDY_FILE
        try:
            text = path.read_text(encoding="utf-8")
            found = parse_json(text)
        except FileNotFoundError:
            there = f"has no {STUDY_FILE}" if self.path.is_dir() else "does not exist"
            raise InputError(f"{self.path} is not a study's folder: it {there}") from None
        except (UnicodeDecodeError, FormatError) as error:
            raise InputError(f"{path} is damaged ({error}): run the study again") from None
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from None
        version = found.get("format") if isinstance(found, dict) else None
        if isinstance(version, int) and version > FORMAT:
            raise InputError(f"{path} was written by a newer Rooftree: update Rooftree")
        try:
            return self.plan_type.model_validate_json(json.dumps(_unsealed(found)))
        except ValidationError as error:
            raise InputError(f"{path}: {first_problem(error)}") from None
        except ValueError as error:
            raise InputError(
                f"{path} is damaged: {error}; put a copy of it back, or run the study again in "
                "another folder"
            ) from None

    def lines(self) -> Iterator[LineT]:
        """The finished runs. InputError for a line that is no result; a torn last one is left.

        Lines of format 1, which had no checksums, come before all that have one.
        """
        path = self.path / RESULTS_FILE
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from None
        has_checksums = False
        for number, text in enumerate(content.split(b"\n")[:-1], start=1):
            try:
                found = parse_json(text)
                sound = _unsealed(found)
                if found == sound and has_checksums:
                    raise ValueError("it has lost its checksum")
                has_checksums = found != sound
                line = self.line_type.model_validate_json(json.dumps(sound))
            except ValueError as error:
                why = first_problem(error) if isinstance(error, ValidationError) else error
                raise InputError(
                    f"{path}, line {number}: {why}; take the line out, its run is then repeated"
                ) from None
            yield line

    @contextmanager
    def appending(self) -> Iterator[ResultFile]:
        """The results, open for appending; a torn last line is removed first."""
        path = self.path / RESULTS_FILE
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            with os.fdopen(os.dup(handle), "rb") as stream:
                whole = stream.read().rfind(b"\n") + 1
            os.ftruncate(handle, whole)
            os.lseek(handle, whole, os.SEEK_SET)
            yield ResultFile(handle, path)
        finally:
            os.close(handle)


class StudyFolder(AnyStudyFolder[Plan, CellResult]):
    """The folder of a study of searches."""

    plan_type, line_type = Plan, CellResult


def study_kind(folder: Path) -> str | None:
    """The kind that a folder's study names; None if it names none, or cannot be read."""
    return _told(folder, "kind")


def _told(folder: Path, key: str) -> str | None:
    """What a folder's study says under a key; None if it says nothing, or cannot be read."""
    try:
        found = parse_json((folder / STUDY_FILE).read_bytes())["study"].get(key)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return found if isinstance(found, str) else None


class ResultFile:
    """Appends lines, which survive a kill of the process once `append` returns."""

    def __init__(self, handle: int, path: Path) -> None:
        self._handle, self._path = handle, path

    def append(self, lines: Iterable[Noun]) -> None:
        """WorldError if the disk refuses."""
        text = "".join(_text_of(line) + "\n" for line in lines)
        data = memoryview(text.encode())
        try:
            while data:
                data = data[os.write(self._handle, data) :]
        except OSError as error:
            raise WorldError(
                f"cannot write {self._path}: {error.strerror}; make room, then run the study again"
            ) from None


def _text_of(line: Noun) -> str:
    """The line as it is stored. KeyboardInterrupt also where pydantic takes one, while a serializer
    of ours runs, for that serializer's failure.
    """
    try:
        table = line.model_dump(mode="json")
    except PydanticSerializationError as error:
        if "KeyboardInterrupt" not in str(error):
            raise
        raise KeyboardInterrupt from None
    return json.dumps(sealed(table), separators=(",", ":"), ensure_ascii=False)


def _unsealed(found: Any) -> Any:
    return unsealed(found) if isinstance(found, dict) else found
