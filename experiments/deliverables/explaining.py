"""Why the best kernel is faster, as Markdown for a pull request, from the journal alone.

A sentence is written only where the journal has what it says. What a model claims of its own code
(rationales, expectations) is no evidence and does not appear; methods that nobody took out again
are called claimed. What was not measured is said at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from experiments.deliverables.best import Delivery
from experiments.deliverables.deltas import deltas, largest
from experiments.deliverables.limits import limited_by, limits_text, profile_of
from experiments.deliverables.markdown import code, codes, folded, line, plain, table
from experiments.deliverables.methods import methods_text
from experiments.text.changes import changes
from experiments.text.lookups import library_of, lookups_of, lookups_text
from experiments.text.quantities import energy_text
from experiments.text.spending import spending_text
from experiments.text.words import counted
from experiments.views.figures import listed
from mcts.domain import Evaluation
from mcts.journal.record import RUNNING, NodeRecord
from mcts.loop.finalists import confirmation_words

_STEP_DELTAS = 3


def explanation(delivery: Delivery) -> str:
    """The whole text."""
    sections = [
        ("", _headline(delivery)),
        ("What changed", _changed(delivery)),
        ("The way there", _way(delivery)),
        ("What the hardware did", _hardware(delivery)),
        ("Which methods it owes this to", methods_text(delivery)),
        ("Shape by shape", _shapes(delivery)),
        ("Energy", _energy(delivery)),
        ("What is left", limits_text(delivery.best)),
        ("What it took to find", _cost(delivery)),
        ("What was looked up for it", _looked_up(delivery)),
        ("What is not known", "\n".join(f"- {gap}" for gap in _gaps(delivery))),
        ("Evidence", _evidence(delivery)),
    ]
    parts = [
        f"## {title}\n\n{content}" if title else content for title, content in sections if content
    ]
    return "\n\n".join(parts) + "\n"


def _headline(delivery: Delivery) -> str:
    timing, best = delivery.timing, delivery.best
    name, over = plain(delivery.task.name), _over(timing.baseline)
    if best.parent is None:
        return (
            f"# {name}: nothing faster was found\n\nThe baseline takes {timing.median_us:,.2f} us "
            f"per call on {plain(delivery.facts.hardware)}."
        )
    shapes = f"weighted over {len(timing.shapes)} shapes, " if timing.shapes else ""
    lines = [
        f"# {name}: {timing.speedup:.2f}x faster",
        "",
        f"**{timing.median_us:,.2f} us per call instead of {timing.baseline_us:,.2f} us**, "
        f"{timing.speedup:.2f}x over {plain(over)} (95 % interval {timing.speedup_low:.2f} to "
        f"{timing.speedup_high:.2f}, {timing.rounds} rounds), {shapes}on "
        f"{plain(delivery.facts.hardware)}.",
    ]
    if best.confirmed is not None and best.evaluation is not None:
        words = confirmation_words(best.evaluation, best.confirmed)
        lines.append(f"Measured a second time: {plain(words)}.")
    lines.append(_right(delivery.summary.best.verdict))
    return "\n".join(lines).rstrip()


def _over(baseline: str) -> str:
    return "the baseline" if baseline == "baseline" else baseline


def _right(verdict: Evaluation) -> str:
    """What is known of its correctness."""
    found = verdict.verification
    if found is None:
        return ""
    used = (
        f"; the greatest error is {found.worst_ratio:.2g} of what the tolerance allows"
        if found.worst_ratio is not None
        else ""
    )
    many = counted(found.rounds, "set")
    return f"Its results were compared with the reference on {many} of inputs{used}."


def _changed(delivery: Delivery) -> str:
    before = delivery.result.baseline.candidate
    if before is None or delivery.best.parent is None:
        return ""
    words = changes(before, delivery.candidate).words()
    return f"Against the baseline: {codes(words)}." if words else ""


def _way(delivery: Delivery) -> str:
    """A row per node on the path to the best, with what changed most in its counters."""
    path = delivery.result.path_to(delivery.best)
    if len(path) < 2:
        return ""
    rows = [_step(None, path[0])]
    rows += [_step(before, after) for before, after in pairwise(path)]
    titles = ("node", "changed", "time, us", "speedup", "limited by", "what moved most")
    text = folded(table(titles, rows, right=("node", "time, us", "speedup")), len(rows), "step")
    return f"{text}\n\nTimes and speedups here are those of the search, each measured once."


def _step(before: NodeRecord | None, node: NodeRecord) -> tuple[str, ...]:
    timing = node.evaluation.timing if node.evaluation and node.evaluation.measured else None
    words: tuple[str, ...] = ()
    moved = ""
    if before is not None and before.candidate and node.candidate:
        words = changes(before.candidate, node.candidate).words()
        found = deltas(profile_of(before), profile_of(node))
        moved = ", ".join(
            f"{delta.name} {' → '.join(delta.ends)}" for delta in largest(found, _STEP_DELTAS)
        )
    return (
        str(node.id),
        codes(words) if before is not None else "the baseline",
        f"{timing.median_us:,.2f}" if timing else "",
        f"{timing.speedup:.2f}x" if timing else "",
        plain(limited_by(node)) if timing else _failed(node),
        moved,
    )


def _failed(node: NodeRecord) -> str:
    """How a step failed that a later one mended; empty if it was not judged."""
    return f"failed: {node.evaluation.status.replace('_', ' ')}" if node.evaluation else ""


def _hardware(delivery: Delivery) -> str:
    """Counters of the baseline and of the last profiled node on the path."""
    path = delivery.result.path_to(delivery.best)
    profiled = [node for node in path[1:] if profile_of(node) is not None]
    if not profiled:
        return ""
    last = profiled[-1]
    found = deltas(profile_of(path[0]), profile_of(last))
    column = "best" if last.id == delivery.best.id else f"node {last.id}"
    rows = [(delta.name, *delta.ends, delta.change) for delta in found]
    text = table(("per call", "baseline", column, "change"), rows,
                 right=("baseline", column, "change"))  # fmt: skip
    if not text:
        return ""
    note = "" if column == "best" else f" The best itself was not profiled; {column} leads to it."
    return (
        f"{text}\n\nNsight Compute's counters; shares, rates and stalls (cycles per issued "
        f"instruction) are those of the longest kernel. Small changes are left out.{note}"
    )


def _shapes(delivery: Delivery) -> str:
    rows = [
        (
            code(shape.workload),
            f"{shape.weight:.3g}",
            f"{shape.median_us:,.2f}",
            f"{shape.baseline_us:,.2f}",
            f"{shape.speedup:.3f}x",
            f"{shape.speedup_low:.3f} to {shape.speedup_high:.3f}",
            "slower" if shape.regressed else "",
        )
        for shape in delivery.timing.shapes
    ]
    titles = ("shape", "weight", "time, us", "baseline, us", "speedup", "95 % interval", "note")
    return table(titles, rows, right=titles[1:6])


def _energy(delivery: Delivery) -> str:
    energy = delivery.summary.best.verdict.energy
    return f"{plain(energy_text(energy))}." if energy else ""


def _cost(delivery: Delivery) -> str:
    result, facts = delivery.result, delivery.facts
    failures = Counter(
        node.evaluation.status if node.evaluation else node.kind
        for node in result.nodes[1:]
        if node.kind in ("failed", "rejected")
    )
    failed = f"{result.failed} without a result"
    if failures:
        failed += f" ({plain(listed(dict(failures.most_common())))})"
    lines = [
        f"{counted(result.evaluations, 'trial')}, {counted(result.unique, 'distinct candidate')} "
        f"evaluated, {failed}, "
        f"in {result.seconds:,.1f} s; stopped: {plain(result.stop_reason)}."
    ]
    if spent := spending_text(result.spending, replayed=facts.replayed):
        lines.append(f"Spent: {plain(spent)}.")
    if refused := delivery.summary.refused:
        lines.append(f"Refused because they did not do the task's work: {plain(listed(refused))}.")
    return " ".join(lines)


def _looked_up(delivery: Delivery) -> str:
    """What the model asked a library for on the path to the best, and in the whole run."""
    nodes = delivery.result.nodes
    library = library_of(nodes)
    if not library:
        return ""
    every = [one for node in nodes for one in lookups_of(node.usage)]
    text = f"In {plain(library)}, by the model while it wrote: {lookups_text(every)} in all."
    rows = [
        (str(node.id), plain(one.question), plain(one.found))
        for node in delivery.result.path_to(delivery.best)
        for one in lookups_of(node.usage)
    ]
    found = folded(table(("node", "asked", "what came back"), rows, right=("node",)), len(rows),
                   "look-up")  # fmt: skip
    return f"{text}\n\n{found}" if rows else text


def _gaps(delivery: Delivery) -> Iterator[str]:
    """What the journal cannot say, one line each."""
    best, verdict = delivery.best, delivery.summary.best.verdict
    if delivery.result.stop_reason == RUNNING:
        yield "The run is still going, or crashed: this is the best so far."
    if delivery.facts.replayed:
        yield "Measurements were replayed from a recording: nothing ran on a GPU in this run."
    if best.parent is not None and best.confirmed is None:
        yield "The speedup was measured once, while searching, and not confirmed."
    profiles = [profile_of(delivery.result.baseline), profile_of(best)]
    if None in profiles:
        yield "The baseline or the best has no profile: their counters cannot be compared."
    missing = {name for profile in profiles if profile for name in profile.missing}
    if missing:
        yield f"{len(missing)} quantities of the profiles were not measured."
    if verdict.energy is None:
        yield "Energy was not measured."
    for note in verdict.notes:
        yield plain(note)


def _evidence(delivery: Delivery) -> str:
    facts, config = delivery.facts, delivery.config
    asked = f", model {plain(config.model.name)}" if config.model.name else ""
    return (
        f"Node {delivery.best.id}, {code(delivery.candidate.id)}, of a run with seed {facts.seed}: "
        f"evaluator {plain(facts.evaluator)}, proposer {plain(facts.proposer)}{asked}, Rooftree "
        f"{plain(config.rooftree)}, tree {code(line(delivery.result.tree_digest))}. "
        "`rooftree export` writes what is needed to verify and time it again."
    )
