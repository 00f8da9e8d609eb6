"""What a run was asked to do, resolved: written once to `config.toml`, read again by resume."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError

from experiments.runs.options.first_format import nested, tables_of_format_2
from experiments.runs.options.libraries import LibraryReference
from experiments.runs.options.run_hints import CONFIG_FILE as CONFIG_FILE
from experiments.runs.options.run_hints import not_a_run_folder
from experiments.runs.tasks.files import bundled_recordings
from mcts.domain import Noun, first_problem
from mcts.errors import InputError
from mcts.files import write_whole
from mcts.formats import FormatError, parse_toml
from mcts.options import OFF, JudgingOptions, Limits, ModelOptions, SearchOptions

CONFIG_FORMAT = 2


class RecordingReference(Noun):
    """A recording a run replays: too large to copy, so that its hash must still hold."""

    path: str
    sha256: str

    @classmethod
    def of(cls, path: Path) -> RecordingReference:
        return cls(path=str(path.absolute()), sha256=file_sha256(path))

    def verified(self) -> Path:
        """The recording's path; InputError if it is gone or is not the one the run began with.

        One that came with Rooftree may lie elsewhere since an update.
        """
        path = Path(self.path)
        if not path.is_file():
            bundled = next((one for one in bundled_recordings(path.name) if self._is(one)), None)
            if bundled is None:
                raise InputError(f"the run's recording {path} is gone: put it back to go on")
            return bundled
        if not self._is(path):
            raise InputError(
                f"the run's recording {path} has changed since the run began: put the old file "
                "back, or start a new run"
            )
        return path

    def _is(self, path: Path) -> bool:
        return file_sha256(path) == self.sha256


class RunConfig(Noun):
    """Every choice of a run: its options with each `auto` decided, and what was found by them.

    `task` is what the user gave; the task's own files lie in the run folder unless the task is a
    recording. `recording` is what is replayed and `library` what the model looks things up in, with
    what tells that they are still the same. `tool_weights` is what the run's memory said of the
    tools when the run began, kept here so that a resumed run ranks their advice the same way, and
    `knowledge` the hash of what it said of methods, which lies in the run folder.
    """

    format: int = CONFIG_FORMAT
    rooftree: str
    run_id: str = ""
    task: str
    task_name: str
    knowledge: str = ""
    search: SearchOptions
    judging: JudgingOptions
    limits: Limits = Limits()
    model: ModelOptions = ModelOptions()
    recording: RecordingReference | None = None
    library: LibraryReference | None = None
    tool_weights: dict[str, float] = {}

    @property
    def memory(self) -> Path | None:
        """The file that the run learns from and teaches; None if it does neither."""
        memory = self.search.memory
        return None if memory is None or str(memory) == OFF else memory


def write_config(path: Path, config: RunConfig) -> None:
    """Write `config` as TOML, whole or not at all."""
    text = tomli_w.dumps(config.model_dump(mode="json", exclude_none=True))
    write_whole(path, text, durable=True)


def read_config(path: Path) -> RunConfig:
    """Read a run's configuration, also one in an older format. InputError names the field that is
    wrong.
    """
    try:
        table = parse_toml(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise not_a_run_folder(path.parent, path.name) from None
    except (FormatError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    try:
        return RunConfig.model_validate(nested(table) if _format(path, table) == 1 else table)
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error, RunConfig)}") from None


def _format(path: Path, table: Mapping[str, Any]) -> int:
    """The format of a configuration. InputError if there is none such, or if the table is not in
    the format that it names.
    """
    found = table.get("format", CONFIG_FORMAT)
    if type(found) is not int or found < 1:  # true is an int too
        raise InputError(
            f"{path}: format is 1 or {CONFIG_FORMAT}, not {json.dumps(found, default=str)}"
        )
    if found > CONFIG_FORMAT:
        raise InputError(
            f"{path.parent} was made by a newer Rooftree (configuration format {found}, this one "
            f"reads {CONFIG_FORMAT}): update Rooftree"
        )
    if found == 1 and (later := tables_of_format_2(table)):
        raise InputError(f"{path}: format 1 has no table [{later[0]}]: this is format 2")
    return found


def file_sha256(path: Path) -> str:
    """Hex digest of a file's bytes; InputError when it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
