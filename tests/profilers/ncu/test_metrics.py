"""The table of counters: everything collected is read, and everything read is collected."""

from __future__ import annotations

import ast
import csv
from pathlib import Path

from mcts.domain import metrics
from profilers.ncu.metrics import COLLECTED

ROOT = Path(__file__).parents[3]
NOUNS = ROOT / "mcts" / "domain" / "profile.py"
READERS = [
    *sorted((ROOT / "microtools").rglob("*.py")),
    *sorted((ROOT / "mcts" / "microtool").glob("*.py")),
    *sorted((ROOT / "profilers" / "roofline").glob("*.py")),
    NOUNS,
]
REPORTS = [
    ROOT / "tests" / "data" / "ncu" / name
    for name in ("three_kernels.csv", "collected.csv", "clinic.csv")
]
PREFIXES = ("sm__", "smsp__", "l1tex__", "lts__", "dram__", "gpu__", "launch__")
NAMES = {
    value: name
    for name, value in vars(metrics).items()
    if name.isupper() and isinstance(value, str) and not name.startswith("_")
}


def _read_by(path: Path) -> set[str]:
    """Constants of the table that the source reads: `m.CONSTANT`, or imported by name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found |= {node.attr} if node.value.id in ("m", "metrics") else set()
        elif isinstance(node, ast.ImportFrom) and node.module == "mcts.domain.metrics":
            found |= {alias.name for alias in node.names}
    return found & set(NAMES.values())


def _spelled_in(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text()))
    strings = {node.value for node in nodes if isinstance(node, ast.Constant)}
    return {text for text in strings if isinstance(text, str) and text.startswith(PREFIXES)}


def test_readers_are_found_in_every_folder_of_the_tools() -> None:
    folders = {path.parent.name for path in READERS}
    assert {"microtools", "kernel", "instruction", "system", "roofline", "domain"} <= folders


def test_everything_collected_is_read() -> None:
    read = set().union(*map(_read_by, READERS))
    assert {NAMES[name] for name in COLLECTED} - read == set()


def test_everything_read_is_collected() -> None:
    read = set().union(*map(_read_by, READERS))
    assert read - {NAMES[name] for name in COLLECTED} == set()


def test_every_constant_is_collected_once() -> None:
    assert sorted(COLLECTED) == sorted(NAMES)
    assert len(set(COLLECTED)) == len(COLLECTED)


def test_every_name_stands_in_a_real_report() -> None:
    """On a GH100: those that `--set full` does not take were asked for by name."""
    printed: set[str] = set()
    for path in REPORTS:
        lines = [line for line in path.read_text().splitlines() if line.startswith('"ID",')]
        printed |= set(next(csv.reader(lines)))
    assert set(COLLECTED) - printed == set()


def test_no_counter_is_spelled_outside_of_the_table() -> None:
    for path in READERS:
        assert _spelled_in(path) == set(), path
