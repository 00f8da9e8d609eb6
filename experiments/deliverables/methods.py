"""Which methods a best kernel owes its speed to, as far as they were taken out and measured."""

from __future__ import annotations

from experiments.deliverables.best import Delivery
from experiments.deliverables.markdown import code, codes, folded, plain, table
from experiments.rundirs.claims import standing_methods
from experiments.wording import worth_text
from mcts.domain import Attribution


def methods_text(delivery: Delivery) -> str:
    """The section; methods that nobody took out again are called claimed."""
    path = delivery.result.path_to(delivery.best)
    found = worth_text.attributed(path)
    claimed = standing_methods(path)
    if not found:
        if not claimed:
            return ""
        return (
            f"Claimed along the way: {codes(claimed)}. None of them was taken out again and "
            "measured (`rooftree attribute` does that), so that which of them it owes its speed to "
            "is not known."
        )
    rows = [
        tuple(
            code(cell) if title in ("method", "taken out by") else plain(cell)
            for title, cell in zip(worth_text.TITLES, worth_text.cells(*one), strict=True)
        )
        for one in found
    ]
    text = folded(table(worth_text.TITLES, rows, right=("node", "gain")), len(rows), "measurement")
    weighed = {one.method for _, one in found}
    rest = [name for name in claimed if name not in weighed]
    more = f" Claimed, and not weighed: {codes(rest)}." if rest else ""
    return (
        f"{_worths(found)}\n\n{text}\n\nEach method was taken out of its variant again and what "
        f"was left was measured: the gain is the time without it over the time with it, less 1, "
        f"with its 95 % interval.{more}"
    )


def _worths(found: list[tuple[int, Attribution]]) -> str:
    """Every method once, by what it came to in the steps that claimed it."""
    steps: dict[str, set[str]] = {}
    for _, one in found:
        steps.setdefault(one.method, set()).add(one.worth)
    groups: dict[str, list[str]] = {}
    for method, worths in steps.items():
        words = " here and ".join(sorted(worths)) + (" there" if len(worths) > 1 else "")
        groups.setdefault(words.replace("_", " "), []).append(method)
    return " ".join(f"{words.capitalize()}: {codes(group)}." for words, group in groups.items())
