"""The package of plug-ins needs nothing of ours but `mcts`, its tests included."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = {path.parent.name for path in ROOT.glob("*/__init__.py")} | {"tests", "docs"}
FILES = sorted((ROOT / "docs" / "examples" / "my_parts").rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_plug_in_imports_mcts_alone(path: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            imported.add(str(node.module).partition(".")[0])
        elif isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
    assert {"mcts", "experiments", "microtools"} <= OURS
    assert imported & OURS <= {"mcts"}
