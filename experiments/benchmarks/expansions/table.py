"""What a file of recorded expansions holds, as a row for each tree."""

from __future__ import annotations

from typing import Any

from experiments.benchmarks.expansions.tree import ExpansionTree
from experiments.text.tables import Column

COLUMNS = (
    Column("task", "name"),
    Column("hardware", "words", spare=5),
    Column("runs", spare=4),
    Column("variants"),
    Column("replies", spare=3),
    Column("failed", spare=2),
    Column("parents"),
    Column("replies each"),
    Column("depth", spare=1),
    Column("best"),
)


def summary(tree: ExpansionTree) -> dict[str, Any]:
    """The figures of a tree: `replies_each` are those below each parent, in the order in which the
    parents were expanded.
    """
    return {
        "task": tree.task,
        "task_id": tree.task_id,
        "dialect": tree.dialect,
        "hardware": tree.hardware,
        "over": tree.over,
        "runs": len(tree.runs),
        "variants": len(tree.variants),
        "replies": len(tree.replies),
        "failed": tree.failed,
        "parents": len(tree.children),
        "replies_each": [len(replies) for replies in tree.children.values()],
        "depth": tree.depth,
        "best": tree.best,
    }


def row(tree: ExpansionTree) -> tuple[str, ...]:
    """The cells under `COLUMNS`."""
    found = summary(tree)
    each = sorted(found["replies_each"])
    found["replies each"] = "-" if not each else " to ".join(map(str, dict.fromkeys(_ends(each))))
    found["best"] = f"{tree.best:.2f}x"
    return tuple(str(found[column.title]) for column in COLUMNS)


def _ends(each: list[int]) -> tuple[int, int]:
    return each[0], each[-1]
