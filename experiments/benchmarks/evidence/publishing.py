"""Put what a study found into this repository: `python -m ...publishing STUDY TARGET`.

`study.json` and `results.jsonl` are all that `rooftree compare` needs. Paths below the folder of
the command become relative to it, so that no machine's own path is published; what the runs asked
and measured stays with the study.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

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
    publish(Path(sys.argv[1]), Path(sys.argv[2]), root=Path.cwd())
