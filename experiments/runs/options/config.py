"""What a run was asked to do, resolved: written once to `config.toml`, read again by resume."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from experiments.runs.options.asking import Asking
from experiments.runs.options.libraries import LibraryReference
from experiments.runs.options.run_hints import not_a_run_folder
from mcts.domain import Dialect, Noun, Policy, first_problem
from mcts.domain.objective import Objective
from mcts.errors import InputError

CONFIG_FILE = "config.toml"
CONFIG_FORMAT = 1


class RecordingReference(Noun):
    """A recording a run replays: too large to copy, so that its hash must still hold."""

    path: str
    sha256: str

    @classmethod
    def of(cls, path: Path) -> RecordingReference:
        return cls(path=str(path.absolute()), sha256=file_sha256(path))

    def verified(self) -> Path:
        """The recording's path; InputError when it is gone or is not the one the run began with."""
        path = Path(self.path)
        if not path.is_file():
            raise InputError(f"the run's recording {path} is gone: put it back to go on")
        if file_sha256(path) != self.sha256:
            raise InputError(
                f"the run's recording {path} has changed since the run began: put the old file "
                "back, or start a new run"
            )
        return path


class RunConfig(Noun):
    """Every choice of a run, with `auto` already resolved.

    `task` is what the user gave; the task's own files lie in the run folder unless the task is a
    recording. `search_settings` overrides single constants of the search. `memory` is the file the
    run learns from and teaches, None where it does neither; `tool_weights` is what it said of the
    tools when the run began, kept here so that a resumed run ranks their advice the same way, and
    `knowledge` the hash of what it said of methods, which lies in the run folder.
    `objective` is what a better variant has less of; `finalists` are measured once more at the end.
    `max_cost_usd` and `max_tokens` bound what language models take in the whole run, failed trials
    included, `max_gpu_minutes` the time in which candidates are judged. `asking` is how a model is
    asked, None where none is, and `library` what it may look things up in.
    `compiled`, `ungated`, `unsafe`, `includes` and `wait_minutes` are the evaluator's, as on the
    command line; `dialect` is that of a problem file's candidates, None for PyTorch.
    """

    format: int = CONFIG_FORMAT
    rooftree: str
    task: str
    task_name: str
    evaluator: str
    proposer: str
    search: str = "puct"
    model: str | None = None
    api_base: str | None = None
    evaluations: int = Field(ge=1)
    minutes: float | None = Field(default=None, gt=0)
    max_cost_usd: float | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, gt=0)
    max_gpu_minutes: float | None = Field(default=None, gt=0)
    seed: int = 0
    parallel: int = Field(default=1, ge=1)
    device: int = Field(default=0, ge=0)
    run_id: str = ""
    memory: str | None = None
    objective: Objective = "time"
    finalists: int = Field(default=3, ge=0)
    compiled: bool = False
    ungated: bool = False
    unsafe: bool = False
    wait_minutes: float | None = Field(default=None, gt=0)
    policy: Policy = Policy()
    dialect: Dialect | None = None
    includes: tuple[str, ...] = ()
    asking: Asking | None = None
    search_settings: dict[str, int | float] = {}
    knowledge: str = ""
    tool_weights: dict[str, float] = {}
    recording: RecordingReference | None = None
    library: LibraryReference | None = None


def write_config(path: Path, config: RunConfig) -> None:
    """Write `config` as TOML, whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(to_toml(config.model_dump(mode="json", exclude_none=True)), encoding="utf-8")
    partial.replace(path)


def read_config(path: Path) -> RunConfig:
    """Read a run's configuration. InputError names the field that is wrong."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise not_a_run_folder(path.parent, path.name) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    if isinstance(found := table.get("format"), int) and found > CONFIG_FORMAT:
        raise InputError(
            f"{path.parent} was made by a newer Rooftree (configuration format {found}, this one "
            f"reads {CONFIG_FORMAT}): update Rooftree"
        )
    try:
        return RunConfig.model_validate(table)
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from None


def to_toml(table: Mapping[str, Any]) -> str:
    """TOML of scalars and of tables one level deep, which is all a configuration has."""
    lines = [f"{key} = {_value(value)}" for key, value in table.items() if not _is_table(value)]
    for name, inner in table.items():
        if _is_table(inner) and inner:
            lines += ["", f"[{name}]"]
            lines += [f"{_key(key)} = {_value(item)}" for key, item in inner.items()]
    return "\n".join(lines) + "\n"


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _key(key: str) -> str:
    """A bare key where it can be one: plug-ins may choose their names freely."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: object) -> str:
    """JSON's scalars are TOML's, but for the one control character JSON leaves unescaped."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


def file_sha256(path: Path) -> str:
    """Hex digest of a file's bytes; InputError when it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
