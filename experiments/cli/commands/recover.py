"""`recover`: go on from what is sound of a run whose journal is damaged."""

from __future__ import annotations

from pathlib import Path

from experiments.app.interrupting import command_line
from experiments.runs.folders import recovering


def recover(run_dir: Path, target: Path) -> None:
    """Copy what is sound of a run to `target`, and print how to go on. InputError if that cannot
    be.
    """
    found = recovering.recover(run_dir, target)
    print(f"{target}: events 1 to {found.events} of {run_dir}, up to the damage ({found.problem})")
    print(f"see it with:  {command_line('report', target)}")
    print(f"go on with:   {command_line('resume', target)}")
