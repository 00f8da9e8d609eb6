"""What a run knew when it began, kept in its folder: a resumed run goes on from the same."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from pydantic import ValidationError

from experiments.runs.options.config import file_sha256
from mcts.domain import StateSignature, canonical_json
from mcts.errors import InputError
from mcts.files import write_whole
from mcts.formats import parse_json
from mcts.knowledge.base import Key, Knowledge
from mcts.knowledge.evidence import Evidence
from mcts.knowledge.moves import Act

KNOWLEDGE_FILE = "knowledge.json"
FORMAT = 1


def write_snapshot(run_dir: Path, knowledge: Knowledge) -> str:
    """Write what is known, whole or not at all; returns the file's hash, empty without anything to
    keep."""
    if not knowledge:
        return ""
    path = run_dir / KNOWLEDGE_FILE
    write_whole(path, to_json(knowledge), durable=True)
    return file_sha256(path)


def read_snapshot(run_dir: Path, sha256: str) -> Knowledge:
    """What `write_snapshot` kept under this hash. InputError if it is no longer there."""
    if not sha256:
        return Knowledge()
    path = run_dir / KNOWLEDGE_FILE
    if not path.is_file() or file_sha256(path) != sha256:
        raise InputError(
            f"{path}, from which the run began, is gone or has changed: put it back, or start a "
            "new run"
        )
    return from_json(path.read_text(encoding="utf-8"), place=str(path))


def to_json(knowledge: Knowledge) -> str:
    """Equal for equal knowledge."""
    rows = [
        {
            "task": key.task,
            "state": key.state.model_dump(mode="json", exclude_defaults=True),
            "method": key.act.method,
            "undone": key.act.undone,
            "evidence": asdict(found),
        }
        for key, found in knowledge.sums.items()
    ]
    return canonical_json({"format": FORMAT, "sums": rows})


def from_json(text: str, *, place: str) -> Knowledge:
    """What `to_json` wrote. InputError for anything else."""
    try:
        table = parse_json(text)
        if table["format"] != FORMAT:
            raise InputError(f"{place} was made by another version of Rooftree: start a new run")
        sums = {
            Key(
                row["task"],
                StateSignature.model_validate(row["state"]),
                Act(row["method"], row["undone"]),
            ): Evidence(**row["evidence"])
            for row in table["sums"]
        }
    except (KeyError, TypeError, ValueError, ValidationError) as error:
        raise InputError(f"{place} is damaged: {error}") from None
    return Knowledge(sums)
