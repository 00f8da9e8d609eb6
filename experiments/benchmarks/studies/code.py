"""The code that decides what a run on a recording comes to, as a hash: a version says too little of
a checkout that is worked on.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

_ROOT = Path(__file__).parents[3]
_STUDIES = "experiments/benchmarks/studies"
DECIDING = (
    "codegen/scripted", "mcts/loop", "mcts/search", "microtools", "profilers/recordings",
    "profilers/roofline",
    *(f"{_STUDIES}/{name}.py"
      for name in ("arms", "cell", "kinds", "recorded_task", "recorded_tree", "space")),
)  # fmt: skip


def code_hash() -> str:
    """Of these files and packages, by names and texts. Plug-ins are no part of it, nor is what
    compares runs that are there.
    """
    found = hashlib.sha256()
    for place in DECIDING:
        whole = _ROOT / place
        for path in [whole] if whole.is_file() else sorted(whole.rglob("*.py")):
            found.update(f"{path.relative_to(_ROOT).as_posix()}\0".encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:16]
