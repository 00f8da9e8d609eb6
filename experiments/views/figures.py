"""The reported figures of a run in words: label and text said once, for terminal and report.

A figure comes from a RunSummary; it is shown where one of the tuples at the end lists it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from experiments.text.quantities import energy_text, resolution_words, shape_lines
from experiments.text.spending import spending_text
from experiments.text.stages import time_text
from experiments.text.worth import counts_text
from mcts.domain import Timing
from mcts.journal.summary import RunSummary
from mcts.loop.finalists import confirmation_words


@dataclass(frozen=True, slots=True)
class Figure:
    """`texts` has a text for each line of it, none if there is nothing to say."""

    label: str
    texts: Callable[[RunSummary], Iterable[str]]


def rows(run: RunSummary, figures: Sequence[Figure]) -> list[tuple[str, str]]:
    """Labels and texts of what there is to say."""
    return [(figure.label, text) for figure in figures for text in figure.texts(run) if text]


def listed(counts: Mapping[str, int]) -> str:
    """``2 side_stream, 1 stale_memory``"""
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def branching_words(run: RunSummary) -> str:
    """``9 more values of 4 proposals measured, 1 taken up again``; empty without branches."""
    values, proposals, restarts = run.branch_values, run.branched, run.restarts
    if proposals == 0 and restarts == 0:
        return ""
    return (
        f"{values} more value{'' if values == 1 else 's'} of {proposals} "
        f"proposal{'' if proposals == 1 else 's'} measured, {restarts} taken up again"
    )


def _best(run: RunSummary) -> Iterable[str]:
    best = run.best
    yield (
        f"{best.best_us:.2f} us, {best.speedup:.2f}x over {_over(best.timing)} "
        f"{best.baseline_us:.2f} us (95 % interval {best.speedup_low:.2f} to "
        f"{best.speedup_high:.2f}), node {best.node}"
    )


def _over(timing: Timing) -> str:
    """Whose time the speedup is over, before that time."""
    return "the baseline's" if timing.baseline == "baseline" else f"{timing.baseline}'s"


def _confirmed(run: RunSummary) -> Iterable[str]:
    """What the winner's second measurement said, and how many of the finalists' bore out."""
    best = run.best
    if not best.finalists:
        yield from _measured_once(run)
        return
    count = f"{best.held} of {best.finalists} finalist{'' if best.finalists == 1 else 's'} held"
    if not best.confirmed or best.searched is None:
        yield f"none is faster than the baseline when measured again; {count}"
    else:
        yield f"{confirmation_words(best.searched, best.verdict)}; {count}"


def _confirmed_briefly(run: RunSummary) -> Iterable[str]:
    if run.best.confirmed:
        searched = run.best.searched_speedup or 0.0
        yield f"confirmed by a second measurement; {searched:.2f}× while searching"
    elif run.best.finalists:
        yield "no finalist is faster than the baseline when measured again"
    else:
        yield from _measured_once(run)


def _measured_once(run: RunSummary) -> Iterable[str]:
    """Of a winner that was not measured again; the baseline needs no such remark."""
    if run.best.node != 0:
        yield "no: measured once, while searching"


def _resolution(run: RunSummary) -> Iterable[str]:
    if run.best.detectable is not None:
        yield resolution_words(run.best.detectable)


def _ranked(run: RunSummary) -> Iterable[str]:
    """Only where speedups do not rank."""
    if run.best.against_itself is not None:
        low, high = run.best.against_itself
        yield (
            f"by the kernels' own times: the baseline's vary, so that its own speedup came to "
            f"{low:.2f}x to {high:.2f}x"
        )


def _energy(run: RunSummary) -> Iterable[str]:
    if run.best.verdict.energy is not None:
        yield energy_text(run.best.verdict.energy)


def _trials(run: RunSummary) -> Iterable[str]:
    totals = run.totals
    yield (
        f"{totals.evaluations} ({totals.unique} unique, {totals.failed} failed) in "
        f"{totals.seconds:.1f} s; stopped: {totals.stop_reason}"
    )
    if totals.unrecorded:
        many = f"{totals.unrecorded} proposal{'s' if totals.unrecorded > 1 else ''}"
        yield f"besides {many} that the recording does not hold"


def _counts(run: RunSummary) -> Iterable[str]:
    yield f"{run.totals.evaluations}, {run.totals.unique} unique, {run.totals.failed} failed"


SHAPES = Figure("shape", lambda run: shape_lines(run.best.timing))
RESOLUTION = Figure("resolution", _resolution)
RANKED = Figure("ranked", _ranked)
ENERGY = Figure("energy", _energy)
ISOLATION = Figure("isolation", lambda run: [run.best.isolation or ""])
REFUSED = Figure("refused", lambda run: [listed(run.refused)])
NOTES = Figure("note", lambda run: run.best.notes)
BRANCHES = Figure("branches", lambda run: [branching_words(run)])
SPENT = Figure("spent", lambda run: [spending_text(run.spending, replayed=run.replayed)])
METHODS = Figure("methods", lambda run: [counts_text(one.found for one in run.attributions)])

CLOSING_BEST = (
    Figure("best kernel", _best),
    SHAPES,
    Figure("confirmed", _confirmed),
    RANKED,
    RESOLUTION,
    ENERGY,
    ISOLATION,
    REFUSED,
    NOTES,
)
"""What a terminal shows of the best kernel once a run is over."""
CLOSING_TRIALS = (Figure("trials", _trials),)
CLOSING_RUN = (
    BRANCHES,
    SPENT,
    Figure("time went to", lambda run: [time_text(run.totals.stages_s, run.totals.seconds)]),
    METHODS,
    Figure("done by", lambda run: [f"evaluator {run.evaluator}, proposer {run.proposer}"]),
    Figure("hardware", lambda run: [run.hardware]),
)
"""What it shows of the run, and before that of its trials."""
REPORT_BEST = (
    Figure("confirmed", _confirmed_briefly), SHAPES, RANKED, RESOLUTION, ENERGY, NOTES,
)  # fmt: skip
"""What the report says of the best kernel, without labels."""
REPORT_RUN = (
    Figure("task", lambda run: [run.task]),
    Figure("evaluator", lambda run: [run.evaluator]),
    Figure("proposer", lambda run: [run.proposer]),
    Figure("hardware", lambda run: [run.hardware]),
    Figure("seed", lambda run: [str(run.seed)]),
    Figure("stopped because", lambda run: [run.totals.stop_reason]),
    Figure("trials", _counts),
    Figure("wall clock", lambda run: [f"{run.totals.seconds:.1f} s"]),
    SPENT,
    BRANCHES,
    METHODS,
    Figure("tree digest", lambda run: [run.totals.tree_digest]),
    Figure("objective", lambda run: [run.best.objective if run.best.objective != "time" else ""]),
    ISOLATION,
    REFUSED,
)
"""What the report says of the run."""
