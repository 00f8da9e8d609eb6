"""T4, the field's shared format for auto-tuning results: reading and writing recordings.

Layout as the auto-tuning benchmark hub and Kernel Tuner write it: `metadata` with `timeunit`,
`schema_version`, and `results`, each with `configuration`, `times`, `invalidity`, `measurements`.
Fields of Rooftree's own are in `metadata.rooftree` and in `measurements`, so that other tools
read our files and we read theirs.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mcts.domain import Hardware, first_problem
from mcts.domain.expressions import Scalar
from mcts.domain.tunables import ConfigurationKey
from mcts.errors import InputError, WorldError
from mcts.files import write_whole
from profilers.recordings.packed import read_unpacked
from profilers.recordings.recording import RecordedConfiguration, Recording, natural_values
from profilers.recordings.t4_result import (
    TIME_UNITS_US,
    FieldError,
    record_from_json,
    record_to_json,
)

__all__ = [
    "SCHEMA",
    "RecordedConfiguration",
    "Recording",
    "load_recording",
    "record_from_json",
    "record_to_json",
    "write_recording",
]

SCHEMA = 1
"""Version of `metadata.rooftree`; a file with a greater one was written by a newer Rooftree."""
T4_VERSION = "1.0.0"
MOST_BYTES = 2**28
"""Bytes of the largest recording, unpacked: reading it as JSON takes about ten times as much."""
_OUR_UNIT = "microseconds"


def load_recording(path: Path) -> Recording:
    """Read a `.json` or `.json.gz` file, ours or another tool's.

    A file that stays as it was is parsed once. Raises InputError naming the file and the line or
    field that is wrong.
    """
    path = Path(path).absolute()
    try:
        found = path.stat()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    return _load(path, (found.st_ino, found.st_mtime_ns, found.st_size))


@lru_cache(maxsize=2)
def _load(path: Path, version: tuple[int, ...]) -> Recording:
    document = _document(path)
    try:
        return _recording(path.name, document)
    except FieldError as error:
        raise InputError(f"{path.name}: {error}") from None


def write_recording(path: Path, recording: Recording) -> None:
    """Write `recording` as T4, gzipped if the name ends in .gz; equal content gives equal bytes.

    Raises WorldError when the file cannot be written; an old file then stays as it was.
    """
    document = {
        "metadata": {"timeunit": _OUR_UNIT, "rooftree": _our_metadata(recording)},
        "schema_version": T4_VERSION,
        "results": [record_to_json(record) for record in recording.configurations],
    }
    data = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
    if path.name.endswith(".gz"):
        data = gzip.compress(data, compresslevel=9, mtime=0)
    try:
        write_whole(path, data)
    except OSError as error:
        raise WorldError(f"cannot write {path}: {error.strerror or error}") from None


def _our_metadata(recording: Recording) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "recorded_on": recording.recorded_on,
        "hardware": recording.hardware.model_dump(mode="json", exclude_none=True),
        "task": {
            "name": recording.task_name,
            "id": recording.task_id,
            "source_hash": recording.source_hash,
        },
        "tunables": {name: list(values) for name, values in recording.tunables.items()},
        "baseline": recording.baseline,
    }


def _document(path: Path) -> dict[str, Any]:
    data = read_unpacked(path, most=MOST_BYTES)
    try:
        document = json.loads(data)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise InputError(f"{path.name}: not JSON at {where}: {error.msg}") from None
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise InputError(f"{path.name}: not JSON: {error}") from None
    if not isinstance(document, dict):
        raise InputError(f"{path.name}: not a T4 file: the top level is no object")
    return document


def _recording(origin: str, document: Mapping[str, Any]) -> Recording:
    metadata = _object(document.get("metadata", {}), "metadata")
    _check_versions(document, metadata)
    unit = _time_unit(metadata)
    results = document.get("results")
    if not isinstance(results, list):
        raise FieldError("results: a list of results is missing; this is no T4 file")
    if not results:
        raise FieldError("results: the list is empty")
    records: dict[ConfigurationKey, RecordedConfiguration] = {}
    for index, result in enumerate(results):
        record = record_from_json(result, unit_us=unit, where=f"results[{index}]")
        records.setdefault(record.key, record)
    _check_same_tunables(results)
    configurations = tuple(records.values())
    ours = _object(metadata.get("rooftree", {}), "metadata.rooftree")
    return _assemble(origin, ours, configurations)


def _assemble(
    origin: str, ours: Mapping[str, Any], configurations: tuple[RecordedConfiguration, ...]
) -> Recording:
    task = _object(ours.get("task", {}), "metadata.rooftree.task")
    name = origin.removesuffix(".gz").removesuffix(".json")
    date = ours.get("recorded_on") or configurations[0].timestamp[:10] or "an unknown date"
    return Recording(
        origin=origin,
        hardware=_hardware(ours, name),
        recorded_on=str(date),
        tunables=_tunables(ours, configurations),
        configurations=configurations,
        task_name=str(task.get("name") or name),
        task_id=_text(task, "id"),
        source_hash=_text(task, "source_hash"),
        baseline=_baseline(ours),
    )


def _check_versions(document: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    version = str(document.get("schema_version", T4_VERSION))
    if version.split(".")[0] not in ("0", "1"):
        raise FieldError(f"schema_version: T4 {version} is newer than this Rooftree reads (1.x)")
    ours = metadata.get("rooftree")
    if not isinstance(ours, dict):
        return
    schema = ours.get("schema", SCHEMA)
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise FieldError(f"metadata.rooftree.schema: {schema!r} is no version")
    if schema > SCHEMA:
        raise FieldError(
            f"metadata.rooftree.schema: {schema} was written by a newer Rooftree; "
            f"this one reads up to {SCHEMA}: upgrade it"
        )


def _time_unit(metadata: Mapping[str, Any]) -> float:
    unit = metadata.get("timeunit", "milliseconds")
    if not isinstance(unit, str) or unit.lower() not in TIME_UNITS_US:
        known = ", ".join(sorted(TIME_UNITS_US))
        raise FieldError(f"metadata.timeunit: {unit!r} is not one of {known}")
    return TIME_UNITS_US[unit.lower()]


def _check_same_tunables(results: list[dict[str, Any]]) -> None:
    first = set(results[0]["configuration"])
    for index, result in enumerate(results):
        if set(result["configuration"]) != first:
            raise FieldError(
                f"results[{index}].configuration: its tunables differ from those of results[0] "
                f"({', '.join(sorted(first))})"
            )


def _tunables(
    ours: Mapping[str, Any], configurations: tuple[RecordedConfiguration, ...]
) -> dict[str, tuple[Scalar, ...]]:
    """The declared values in their order if Rooftree wrote the file, or else those that occur."""
    found = natural_values(record.configuration for record in configurations)
    declared = ours.get("tunables")
    if declared is None:
        return found
    table = _object(declared, "metadata.rooftree.tunables")
    if set(table) != set(found):
        raise FieldError("metadata.rooftree.tunables: not the tunables of the results")
    for name, values in table.items():
        where = f"metadata.rooftree.tunables.{name}"
        if not isinstance(values, list) or not all(
            isinstance(v, int | float | str) for v in values
        ):
            raise FieldError(f"{where}: a list of values is expected")
        if absent := set(found[name]) - set(values):
            raise FieldError(f"{where}: a result has the undeclared value {min(map(str, absent))}")
    return {name: tuple(values) for name, values in table.items()}


def _hardware(ours: Mapping[str, Any], name: str) -> Hardware:
    given = ours.get("hardware")
    if given is None:
        return Hardware(name=f"unnamed device of {name}")
    try:
        return Hardware.model_validate(given)
    except ValidationError as error:
        raise FieldError(f"metadata.rooftree.hardware.{first_problem(error)}") from None


def _baseline(ours: Mapping[str, Any]) -> dict[str, Scalar] | None:
    if ours.get("baseline") is None:
        return None
    given = _object(ours["baseline"], "metadata.rooftree.baseline")
    for name, value in given.items():
        if not isinstance(value, int | float | str):
            raise FieldError(f"metadata.rooftree.baseline.{name}: a value is expected")
    return dict(given)


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FieldError(f"{where}: an object is expected, not {type(value).__name__}")
    return value


def _text(table: Mapping[str, Any], key: str) -> str | None:
    value = table.get(key)
    return None if value is None else str(value)
