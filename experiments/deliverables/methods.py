"""Which methods a best kernel owes its speed to, as far as they were taken out and measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from codegen import playbook
from experiments.deliverables.best import Delivery
from experiments.deliverables.markdown import code, codes, folded, plain, table
from experiments.text import worth as worth_text
from experiments.views.claims import standing_methods
from mcts.attribution.ablation import ablated_by_tunable
from mcts.domain import Attribution
from mcts.loop.briefing import realised

_HARMFUL = "harmful"
_CODES = ("method", "taken out by")


def methods_text(delivery: Delivery) -> str:
    """The section: what the best kernel has, what was taken back before it, what is not known.

    Methods that nobody took out again are called claimed.
    """
    path = delivery.result.path_to(delivery.best)
    claimed = standing_methods(path)
    found = [(node, one, worth_text.worth_text(one)) for node, one in worth_text.attributed(path)]
    if not found:
        return _only_claimed(claimed) if claimed else ""
    there = _failed_and_there(delivery, [one for _, one, _ in found if one.method in claimed])
    kept = _by_method(
        (one.method, worth)
        for _, one, worth in found
        if one.method in claimed and one.method not in there
    )
    gone = _by_method((one.method, worth) for _, one, worth in found if one.method not in claimed)
    rest = [method for method in claimed if method not in kept and method not in there]
    summary = [*_worths(kept), *_put_in_later(there), *_taken_back(gone)]
    summary += _unweighed(delivery, rest)
    return f"{' '.join(summary)}\n\n{_measurements(found)}\n\n{_reading(found)}"


def _only_claimed(claimed: Sequence[str]) -> str:
    return (
        f"Claimed along the way: {codes(claimed)}. None of them was taken out again and "
        "measured (`rooftree attribute` does that), so that which of them it owes its speed to "
        "is not known."
    )


def _by_method(worths: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Every method once, with what it came to in the steps that claimed it; the effective first."""
    steps: dict[str, set[str]] = {}
    for method, worth in worths:
        steps.setdefault(method, set()).add(worth)
    found = {method: sorted(words) for method, words in steps.items()}
    return {
        method: f"{words[0]} in some steps, {' or '.join(words[1:])} in others"
        if len(words) > 1
        else words[0]
        for method, words in sorted(found.items(), key=lambda item: item[1])
    }


def _failed_and_there(delivery: Delivery, found: Sequence[Attribution]) -> list[str]:
    """Methods that no step which claimed them had, and a later one put in: the machine code of the
    best shows them.
    """
    worths: dict[str, set[str]] = {}
    for one in found:
        worths.setdefault(one.method, set()).add(one.worth)
    failed = [
        method
        for method, each in worths.items()
        if "implementation_failed" in each and each <= {"implementation_failed", "unknown"}
    ]
    evaluation = delivery.best.evaluation
    profile = evaluation.profile if evaluation else None
    if not failed or profile is None:
        return []
    shown = realised(playbook.signatures(), profile)
    return [method for method in failed if shown.get(method)]


def _put_in_later(methods: Sequence[str]) -> list[str]:
    if not methods:
        return []
    return [
        f"In its machine code, but put in by a later step than the one that claimed it, so that "
        f"its worth was not measured: {codes(methods)}."
    ]


def _worths(kept: dict[str, str]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for method, words in kept.items():
        groups.setdefault(words, []).append(method)
    return [f"{words.capitalize()}: {codes(group)}." for words, group in groups.items()]


def _taken_back(gone: dict[str, str]) -> list[str]:
    if not gone:
        return []
    listed = ", ".join(f"{code(method)} ({words})" for method, words in gone.items())
    return [f"Taken back on the way, so that this kernel does not have them: {listed}."]


def _unweighed(delivery: Delivery, methods: Sequence[str]) -> list[str]:
    """Methods of the best of which nothing was measured, by the reason."""
    stuck = [method for method in methods if not _can_be_switched_off(delivery, method)]
    left = [method for method in methods if method not in stuck]
    said = []
    if stuck:
        said.append(
            f"Claimed, and not weighed: {codes(stuck)}; in the variants that claimed them no "
            "tunable can be set back by itself to take them out, and nobody rewrote the code."
        )
    if left:
        said.append(
            f"Claimed, and not weighed yet: {codes(left)}; `rooftree attribute` goes on with them."
        )
    return said


def _can_be_switched_off(delivery: Delivery, method: str) -> bool:
    """Whether tunables alone take the method out of some step that claimed it."""
    steps = pairwise(node.candidate for node in delivery.result.path_to(delivery.best))
    return any(
        before is not None
        and after is not None
        and method in after.methods
        and ablated_by_tunable(delivery.task, after, before, method) is not None
        for before, after in steps
    )


def _measurements(found: Sequence[tuple[int, Attribution, str]]) -> str:
    at = worth_text.TITLES.index("worth")
    rows = []
    for node, one, worth in found:
        cells = list(worth_text.cells(node, one))
        cells[at] = worth
        rows.append(
            tuple(
                code(cell) if title in _CODES else plain(cell)
                for title, cell in zip(worth_text.TITLES, cells, strict=True)
            )
        )
    text = table(worth_text.TITLES, rows, right=("node", "gain"))
    return folded(text, len(rows), "measurement")


def _reading(found: Sequence[tuple[int, Attribution, str]]) -> str:
    """How the table is read."""
    text = (
        "Each method was taken out of its variant again and what was left was measured: the gain "
        "is the time without it over the time with it, less 1, with its 95 % interval."
    )
    if any(worth == _HARMFUL for _, _, worth in found):
        text += " A harmful one makes its variant slower, beyond the noise."
    return text
