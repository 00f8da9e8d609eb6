"""The table of counters: nothing collected in vain, nothing read that is not collected."""

from __future__ import annotations

import ast
from pathlib import Path

from mcts.domain import DURATION, metrics
from profilers.metrics import COLLECTED

ROOT = Path(__file__).parents[2]
READERS = [*sorted((ROOT / "microtools").glob("*.py")), ROOT / "profilers" / "roofline.py"]
NAMES = {
    value: name
    for name, value in vars(metrics).items()
    if name.isupper() and isinstance(value, str) and not name.startswith("_")
}


def _read_constants() -> set[str]:
    """Every `m.CONSTANT` in the source of the tools and the roofline."""
    nodes = [node for path in READERS for node in ast.walk(ast.parse(path.read_text()))]
    return {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "m"
    } - {"SECTOR_BYTES"}


def test_everything_collected_is_read_and_everything_read_is_collected() -> None:
    # `Profile.dominant` ranks the kernels by duration.
    read = _read_constants() | {"DURATION"}
    assert read == {NAMES[name] for name in COLLECTED}


def test_every_constant_is_collected_once() -> None:
    assert sorted(COLLECTED) == sorted(NAMES)
    assert len(set(COLLECTED)) == len(COLLECTED)


def test_the_profile_and_the_table_agree_on_the_duration() -> None:
    assert metrics.DURATION == DURATION


def test_nobody_spells_a_counter_elsewhere() -> None:
    prefixes = ("sm__", "smsp__", "l1tex__", "lts__", "dram__", "gpu__", "launch__")
    for path in READERS:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not node.value.startswith(prefixes), f"{path.name}: {node.value}"
