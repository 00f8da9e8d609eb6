"""The values of tunables that a run measured: which of them its times depend on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.views.report.text import line
from mcts.domain.expressions import Scalar
from mcts.journal.record import NodeRecord, Result

FEWEST = 12
"""Below so many measured variants of one code, nothing is said of its tunables."""


def tunables_of(result: Result) -> dict[str, Any] | None:
    """The tunables of the code that most variants share; None if too few were measured, or if fewer
    than two of its tunables took several values.

    `nodes` are its measured variants; for each of them `speedup`, and in `tunables`, the most
    important first, `at`, the number of its value among `values`. `share` is what that value alone
    tells of the time (`explained`).
    """
    variants = _of_one_code(result.nodes)
    if len(variants) < FEWEST:
        return None
    logs = np.array([math.log(node.speedup or 1.0) for node in variants])
    names = dict.fromkeys(name for node in variants for name in _values(node))
    tunables = [_tunable(name, variants, logs) for name in names]
    tunables = [each for each in tunables if len(each["values"]) > 1]
    if len(tunables) < 2:
        return None
    return {
        "nodes": [node.id for node in variants],
        "speedup": [float(f"{node.speedup:.6g}") for node in variants],
        "tunables": sorted(tunables, key=lambda each: -each["share"]),
    }


def explained(logs: NDArray[np.float64], groups: Sequence[int]) -> float:
    """What share of the variance of `logs` [variants] the group of each tells, from 0 to 1:
    omega squared of a one-way analysis of variance, which, unlike eta squared, does not grow with
    the number of groups alone. Hays, "Statistics for Psychologists" (1963)."""
    number = np.asarray(groups)
    levels, count = len(set(groups)), len(logs)
    total = float(((logs - logs.mean()) ** 2).sum())
    if levels < 2 or count <= levels or total <= 0:
        return 0.0
    means = np.bincount(number, logs) / np.maximum(np.bincount(number), 1)
    within = float(((logs - means[number]) ** 2).sum())
    error = within / (count - levels)
    return max(0.0, (total - within - (levels - 1) * error) / (total + error))


def _tunable(
    name: str, variants: Sequence[NodeRecord], logs: NDArray[np.float64]
) -> dict[str, Any]:
    found = [_values(node).get(name) for node in variants]
    values = sorted(set(found), key=_order)
    number = {value: at for at, value in enumerate(values)}
    groups = [number[value] for value in found]
    return {
        "name": line(name, 80),
        "values": ["" if value is None else line(str(value), 40) for value in values],
        "at": groups,
        "share": round(explained(logs, groups), 4),
    }


def _of_one_code(nodes: Sequence[NodeRecord]) -> list[NodeRecord]:
    """The measured variants of the source that has most of them."""
    measured = [
        node
        for node in nodes
        if node.candidate is not None and node.kind != "duplicate" and node.speedup is not None
    ]
    sources = Counter(node.candidate.source for node in measured if node.candidate is not None)
    if not sources:
        return []
    commonest = sources.most_common(1)[0][0]
    return [node for node in measured if node.candidate and node.candidate.source == commonest]


def _values(node: NodeRecord) -> dict[str, Scalar]:
    return dict(node.candidate.tunables) if node.candidate is not None else {}


def _order(value: Scalar | None) -> tuple[int, float, str]:
    """Numbers by size, then words, then what is not set."""
    if value is None:
        return 2, 0.0, ""
    if isinstance(value, (int, float)):
        return 0, float(value), ""
    return 1, 0.0, str(value)
