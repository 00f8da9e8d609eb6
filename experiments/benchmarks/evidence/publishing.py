"""Put what a study found into this repository: `python -m ...publishing STUDY TARGET [BESIDES...]`.

`study.json` and `results.jsonl` are all that `rooftree compare` needs. Paths below the folder of
the command become relative to it, so that no machine's own path is published. With it goes what a
study of searches measured, so that they can be taken again, but for what the stores BESIDES hold
already; what its runs asked stays with the study.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from experiments.benchmarks.measurements.store import MEASUREMENTS_FILE, MeasurementStore
from experiments.benchmarks.studies.folder import RESULTS_FILE, STUDY_FILE
from mcts.domain import sealed, unsealed
from mcts.errors import InputError
from mcts.files import write_whole
from mcts.formats import parse_json


def publish(study: Path, target: Path, *, root: Path) -> None:
    """Copy a study's plan and results. InputError for a path outside of `root`, or no study."""
    path = study / STUDY_FILE
    if not path.is_file():
        raise InputError(f"{study} is not a study's folder: it has no {STUDY_FILE}")
    plan = _relative(unsealed(parse_json(path.read_text(encoding="utf-8"))), root)
    target.mkdir(parents=True, exist_ok=True)
    text = json.dumps(sealed(plan), indent=1, ensure_ascii=False)
    write_whole(target / STUDY_FILE, text + "\n")
    shutil.copyfile(study / RESULTS_FILE, target / RESULTS_FILE)


def publish_measurements(study: Path, target: Path, besides: Sequence[Path]) -> int:
    """Write the store of a study without what `besides` hold and without the code of KernelBench's
    problems, which is not ours to publish: a task has it. How many entries there are.

    What was measured again is written: `--reuse` it before them.

    InputError for a study without a store, or what is no store.
    """
    known: set[tuple[str, str, str, str]] = set()
    for store in besides:
        known.update(row[:4] for row in _rows(store))
    rows = [
        row
        for row in _rows(study / MEASUREMENTS_FILE)
        if row[:4] not in known and not _is_problem(row[2], row[3])
    ]
    file = target / MEASUREMENTS_FILE
    file.unlink(missing_ok=True)
    MeasurementStore(file).close()
    with closing(sqlite3.connect(file)) as connection:
        with connection:
            connection.executemany("INSERT INTO measurement VALUES (?, ?, ?, ?, ?)", rows)
        connection.execute("PRAGMA journal_mode = DELETE")
    return len(rows)


def _rows(store: Path) -> list[tuple[str, str, str, str, float]]:
    MeasurementStore(store, read_only=True).close()
    with closing(sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT * FROM measurement ORDER BY rowid").fetchall()


def _is_problem(kind: str, payload: str) -> bool:
    """Whether an entry is the code of a problem, and not that of a variant of it."""
    if kind != "candidate":
        return False
    source = str(parse_json(payload)["source"])
    return "class Model(" in source and "class ModelNew(" not in source


def _relative(found: Any, root: Path) -> Any:
    if isinstance(found, dict):
        return {name: _relative(value, root) for name, value in found.items()}
    if isinstance(found, list):
        return [_relative(value, root) for value in found]
    if not isinstance(found, str) or not Path(found).is_absolute():
        return found
    if not Path(found).is_relative_to(root):
        raise InputError(f"{found} lies outside of {root}: run this in a folder above it")
    return str(Path(found).relative_to(root))


if __name__ == "__main__":
    study, target, *besides = map(Path, sys.argv[1:])
    publish(study, target, root=Path.cwd())
    if (study / MEASUREMENTS_FILE).is_file():
        publish_measurements(study, target, besides)
