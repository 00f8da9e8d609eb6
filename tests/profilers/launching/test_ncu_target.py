"""The process that ncu profiles is waited for at every profile."""

from __future__ import annotations

import subprocess
import sys


def test_it_imports_no_more_than_it_runs() -> None:
    code = (
        "import sys, profilers.launching.ncu_target\n"
        "heavy = {'pydantic', 'profilers.ncu', 'mcts.domain', 'torch'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
