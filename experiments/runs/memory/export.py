"""Contributions as text: one line of JSON each, known again by the hash of its content."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from mcts.domain import canonical_json, first_problem, tagged_hash
from mcts.errors import InputError
from mcts.files import write_whole
from mcts.knowledge.contribution import Contribution

FORMAT = 1
LONGEST_LINE = 8192
STANDARD = "-"


def content_of(one: Contribution) -> str:
    """Its content as canonical JSON."""
    return canonical_json(one.model_dump(mode="json", exclude_defaults=True))


def group_of(one: Contribution) -> str:
    """Equal for contributions about the same task, state and act; stored in the column `kin`."""
    state = one.state.model_dump(mode="json")
    return tagged_hash("kin", [one.task, state, one.method, one.undone])


def read_content(text: str, *, id: str, place: str) -> Contribution:
    """What `content_of` wrote. InputError, which names the `place`, if it is anything else."""
    try:
        one = Contribution.model_validate_json(text)
        if one.id == id:
            return one
        why = "its content was changed: it does not hash to its id"
    except ValidationError as error:
        why = first_problem(error)
    except ValueError as error:
        why = str(error)
    raise InputError(f"{place} holds a damaged contribution ({id[:60]!r}): {why}")


def lines_of(contributions: Iterable[Contribution]) -> Iterator[str]:
    """A line for each, by id: memories with equal content give equal files."""
    for one in sorted(contributions, key=lambda one: one.id):
        body = one.model_dump(mode="json", exclude_defaults=True)
        yield canonical_json({"format": FORMAT, "id": one.id, **body}) + "\n"


def parse_line(line: str) -> Contribution:
    """One line of an export. InputError says what is wrong with it."""
    if len(line) > LONGEST_LINE:
        raise InputError(f"it is longer than {LONGEST_LINE} characters")
    try:
        table = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"it is not JSON: {error}") from None
    if not isinstance(table, dict):
        raise InputError("it is no JSON object")
    version, id = table.pop("format", None), table.pop("id", None)
    if not isinstance(version, int) or not isinstance(id, str):
        raise InputError("it has no `format` and `id`, so it is no line of an exported memory")
    if version > FORMAT:
        raise InputError(f"it was written by a newer Rooftree (format {version}): update Rooftree")
    try:
        one = Contribution.model_validate(table)
        same = one.id == id
    except ValidationError as error:
        raise InputError(first_problem(error)) from None
    except ValueError as error:
        raise InputError(str(error)) from None
    if not same:
        raise InputError("its content was changed: it does not hash to its id")
    return one


def read_lines(path: Path) -> list[Contribution]:
    """All lines of an export, ``-`` for standard input. InputError names the first bad line."""
    shown = "standard input" if str(path) == STANDARD else str(path)
    try:
        data = sys.stdin.buffer.read() if str(path) == STANDARD else path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    found = []
    for number, raw in enumerate(data.split(b"\n"), start=1):
        if not raw.strip():
            continue
        try:
            found.append(parse_line(raw.decode("utf-8")))
        except UnicodeDecodeError:
            raise InputError(f"{shown}, line {number}: it is not UTF-8 text") from None
        except InputError as error:
            cut = " (the file ends in the middle of it)" if not data.endswith(b"\n") else ""
            last = number == data.count(b"\n") + 1
            raise InputError(f"{shown}, line {number}: {error}{cut if last else ''}") from None
    return found


def write_lines(path: Path, contributions: Iterable[Contribution], *, force: bool = False) -> None:
    """Export, whole or not at all. InputError if `path` is taken, unless `force`, or cannot be
    written.
    """
    if str(path) == STANDARD:
        sys.stdout.writelines(lines_of(contributions))
        return
    if path.exists() and not force:
        raise InputError(f"{path} exists: choose another file, or --force")
    try:
        write_whole(path, "".join(lines_of(contributions)))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
