"""What a person reads at the end of a run."""

from __future__ import annotations

import textwrap
from pathlib import Path

from experiments.runs.tasks.kernel_files import stands_alone
from experiments.text import worth as worth_text
from experiments.text.changes import changes
from experiments.text.energy import energy_text
from experiments.text.spending import spending_text
from experiments.text.stages import time_text
from experiments.text.timing import resolution_words, shape_lines
from experiments.views.branching import branching_words
from experiments.views.claims import standing_methods
from experiments.views.summary import Outputs, RunFacts, counted, refusals, timing_of, verdict_of
from mcts.domain import Timing
from mcts.journal.record import NodeRecord, Result
from mcts.loop.finalists import confirmation_words

_REASON_WIDTH = 160


def closing_words(facts: RunFacts, result: Result, outputs: Outputs, run_dir: Path) -> list[str]:
    """What a person reads at the end of a run."""
    timing, best = timing_of(result.best), result.best
    lines = [
        f"best kernel   {timing.median_us:.2f} us, {timing.speedup:.2f}x over {_over(timing)} "
        f"{timing.baseline_us:.2f} us (95 % interval {timing.speedup_low:.2f} to "
        f"{timing.speedup_high:.2f}), node {best.id}",
        *[f"shape         {line}" for line in shape_lines(timing)],
        *_proof(result),
        f"changed       {_changed(result)}",
        f"trials        {result.evaluations} ({result.unique} unique, {result.failed} failed) in "
        f"{result.seconds:.1f} s; stopped: {result.stop_reason}",
        *_failures(result),
        *_account(facts, result),
        f"done by       evaluator {facts.evaluator}, proposer {facts.proposer}",
        f"hardware      {facts.hardware}",
        f"run folder    {run_dir}",
        f"kernel        {_kernel(outputs, best)}",
        f"tree          {outputs.tree}",
        f"report        {outputs.report}",
    ]
    if outputs.tree_problem:
        lines.append(f"note          {outputs.tree_problem}")
    return lines


def _failures(result: Result) -> list[str]:
    """Why nothing was found, where every trial failed: each kind with its count and an example."""
    trials = result.nodes[1:]
    if not trials or any(node.kind == "measured" for node in trials):
        return []
    kinds: dict[str, list[NodeRecord]] = {}
    for node in trials:
        kinds.setdefault(_kind_of_failure(node), []).append(node)
    return [
        f"failed        {len(nodes)} {kind}: node {nodes[-1].id}: {_reason(nodes[-1])}"
        for kind, nodes in sorted(kinds.items(), key=lambda item: -len(item[1]))
    ]


def _kind_of_failure(node: NodeRecord) -> str:
    """``wrong result``; a proposal that could not be used is ``rejected``."""
    if node.evaluation is None:
        return node.kind
    return node.evaluation.status.replace("_", " ")


def _reason(node: NodeRecord) -> str:
    told = node.evaluation.message if node.evaluation and node.evaluation.message else node.reason
    return textwrap.shorten(told, _REASON_WIDTH, placeholder=" ...") or "no reason was given"


def _account(facts: RunFacts, result: Result) -> list[str]:
    """Lines for what was spent, what became of branches, and what methods are worth."""
    spent = spending_text(result.spending, replayed=facts.replayed)
    worth = worth_text.counts_text(result.nodes)
    branches = branching_words(result)
    return [
        *([f"branches      {branches}"] if branches else []),
        *([f"spent         {spent}"] if spent else []),
        *([f"time went to  {went}"] if (went := time_text(result.stages)) else []),
        *([f"methods       {worth}"] if worth else []),
    ]


def _over(timing: Timing) -> str:
    """Whose time the speedup is over, before that time."""
    return "the baseline's" if timing.baseline == "baseline" else f"{timing.baseline}'s"


def _proof(result: Result) -> list[str]:
    """How well the best is known: lines for what there is to say of it."""
    best, verdict, lines = result.best, verdict_of(result.best), []
    timing = timing_of(best)
    if result.confirmed:
        lines.append(f"confirmed     {_confirmed(result)}")
    if timing.detectable is not None:
        lines.append(f"resolution    {resolution_words(timing.detectable)}")
    if verdict.energy is not None:
        lines.append(f"energy        {energy_text(verdict.energy)}")
    if verdict.isolation is not None:
        lines.append(f"isolation     {verdict.isolation}")
    if refused := refusals(result):
        lines.append(f"refused       {counted(refused)}")
    return lines + [f"note          {note}" for note in verdict.notes]


def _confirmed(result: Result) -> str:
    """What the winner's second measurement said, and how many of the finalists' bore out."""
    best, finalists = result.best, len(result.confirmed)
    held = sum(again.measured for again in result.confirmed.values())
    count = f"{held} of {finalists} finalist{'' if finalists == 1 else 's'} held"
    if best.confirmed is None or best.evaluation is None:
        return f"none is faster than the baseline when measured again; {count}"
    return f"{confirmation_words(best.evaluation, best.confirmed)}; {count}"


def _kernel(outputs: Outputs, best: NodeRecord) -> str:
    if outputs.best_source is None or best.candidate is None:
        return str(outputs.best_candidate)
    if stands_alone(best.candidate):
        return str(outputs.best_source)
    beside = [f"--set {name}={value}" for name, value in best.candidate.tunables.items()]
    return " ".join([str(outputs.best_source), *beside])


def _changed(result: Result) -> str:
    before, after = result.baseline.candidate, result.best.candidate
    assert before is not None and after is not None
    words = changes(before, after).words()
    methods = standing_methods(result.path_to(result.best))
    return (", ".join(words) or "nothing") + (f" ({', '.join(methods)})" if methods else "")
