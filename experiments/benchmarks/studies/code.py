"""The code that decides what a run on a recording comes to, as a hash: a version says too little of
a checkout that is worked on.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable
from pathlib import Path

from experiments.benchmarks.studies.config import Arm
from experiments.runs.options import names

_ROOT = Path(__file__).parents[3]
_STUDIES = "experiments/benchmarks/studies"
DECIDING = (
    "codegen/scripted", "mcts/domain", "mcts/knowledge", "mcts/loop", "mcts/search", "microtools",
    "profilers/recordings", "profilers/roofline", "experiments/runs/memory",
    *(f"{_STUDIES}/{name}.py"
      for name in ("arms", "cell", "counting", "kinds", "recorded_task", "recorded_tree", "space")),
)  # fmt: skip


def code_hash(arms: Iterable[Arm]) -> str:
    """Of these files and packages, by names and texts, and of the modules that make the arms'
    searches and proposers, if they are of others. What compares runs that are there is no part.

    Raises InputError for an arm whose search or proposer there is not.
    """
    found = hashlib.sha256()
    for place in DECIDING:
        whole = _ROOT / place
        for path in [whole] if whole.is_file() else sorted(whole.rglob("*.py")):
            found.update(f"{path.relative_to(_ROOT).as_posix()}\0".encode())
            found.update(path.read_bytes())
    for group, name in sorted({part for arm in arms for part in _parts(arm)}):
        module = inspect.getsourcefile(inspect.unwrap(names.load(group, name)))
        if module is not None and not Path(module).is_relative_to(_ROOT):
            found.update(f"{group}\0{name}\0".encode())
            found.update(Path(module).read_bytes())
    return found.hexdigest()[:16]


def _parts(arm: Arm) -> tuple[tuple[str, str], tuple[str, str]]:
    return (names.SEARCHES, arm.search), (names.PROPOSERS, arm.proposer)
