"""The code that decides what a run on a recording comes to, as a hash: a version says too little of
a checkout that is worked on.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

_ROOT = Path(__file__).parents[3]
DECIDING = (
    "codegen/scripted", "experiments/benchmarks/studies", "mcts/loop", "mcts/search", "microtools",
    "profilers/recordings", "profilers/roofline",
)  # fmt: skip


def code_hash() -> str:
    """Of the Python files of these packages, by their names and texts. Plug-ins are no part."""
    found = hashlib.sha256()
    for folder in DECIDING:
        for path in sorted((_ROOT / folder).rglob("*.py")):
            found.update(f"{path.relative_to(_ROOT).as_posix()}\0".encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:16]
