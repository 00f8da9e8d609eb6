"""The finalists: the best of a search are measured again before one of them is reported.

The greatest of many noisy figures overstates what it measures (the winner's curse), and a candidate
may have passed a check by chance. A fresh measurement, on which the search did not select, corrects
both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from mcts.domain import Evaluation
from mcts.loop.bench import Bench
from mcts.loop.ledger import Ledger
from mcts.loop.progress import status_words

TRIES = 3
"""At most so many times the number of finalists are measured; then the baseline is handed back."""

Report = Callable[[str], None]


def confirm_finalists(ledger: Ledger, bench: Bench, *, count: int, report: Report) -> None:
    """Measure up to `count` of the best again, and enter them in the ledger.

    The best comes first, then those that may be better than what is confirmed by then: their
    interval overlaps that of the best confirmation. If one fails, the next takes its place; at most
    `TRIES * count` are tried. Raises WorldError if the world fails; what was confirmed until then
    is in the journal.
    """
    for evaluation in list(ledger.measured.values()):
        if (known := bench.confirmation(evaluation.candidate_id)) is not None:
            ledger.confirmed[known.candidate_id] = known
    if count == 0 or not bench.evaluator.can_confirm:
        return
    passed: list[Evaluation] = []
    for node in islice(contenders(ledger), TRIES * count):
        before = ledger.measured[node]
        if len(passed) == count:
            return
        if passed and ledger.ranking.interval(before)[1] < _best_low_end(ledger, passed):
            continue
        if before.candidate_id not in ledger.confirmed:
            report(f"node {node}: {before.speedup:.2f}x while searching, being measured again")
        again = bench.confirm(ledger.candidates[node], before)
        ledger.confirmed[again.candidate_id] = again
        report(f"node {node}: {confirmation_words(before, again)}")
        if ledger.ranking.gain(again) is not None and not again.held_back:
            passed.append(again)


def contenders(ledger: Ledger) -> Iterator[int]:
    """Nodes that the search found better than the baseline, the best first, each candidate once."""
    baseline = ledger.measured[0].candidate_id
    distinct: dict[str, int] = {}
    for node, evaluation in sorted(ledger.measured.items()):
        distinct.setdefault(evaluation.candidate_id, node)
    measured = {node: ledger.measured[node] for node in distinct.values()}
    for node in ledger.ranking.order(measured):
        if measured[node].candidate_id == baseline:
            return
        yield node


def _best_low_end(ledger: Ledger, passed: list[Evaluation]) -> float:
    """The low end of the interval of the best confirmation's gain."""
    best = max(passed, key=lambda evaluation: ledger.ranking.gain(evaluation) or 0.0)
    return ledger.ranking.interval(best)[0]


def confirmation_words(before: Evaluation, again: Evaluation) -> str:
    """``13.88x while searching, 13.71x (13.60 to 13.80) confirmed``, or why it is not confirmed."""
    searched = f"{before.speedup:.2f}x while searching"
    timing = again.timing
    if not again.measured or timing is None:
        return f"{searched}, not confirmed: {status_words(again)}: {again.message}"
    if again.held_back:
        return f"{searched}, not confirmed: slower on {', '.join(again.held_back)}"
    return (
        f"{searched}, {timing.speedup:.2f}x ({timing.speedup_low:.2f} to "
        f"{timing.speedup_high:.2f}) confirmed"
    )
