"""What a person reads at the end of a run."""

from __future__ import annotations

import textwrap
from pathlib import Path

from codegen.plan_text import stands_alone
from experiments.text.changes import changes
from experiments.views import figures
from experiments.views.claims import standing_methods
from experiments.views.figures import rows
from experiments.views.summary import Outputs, RunFacts
from mcts.journal.record import NodeRecord, Result
from mcts.journal.summary import RunSummary

_LABEL = 14
_REASON_WIDTH = 160


def closing_words(facts: RunFacts, result: Result, outputs: Outputs, run_dir: Path) -> list[str]:
    """What a person reads at the end of a run."""
    run = RunSummary.of(facts, result)
    lines = [
        *rows(run, figures.CLOSING_BEST),
        ("changed", _changed(result)),
        *rows(run, figures.CLOSING_TRIALS),
        *[("failed", line) for line in _failures(result)],
        *rows(run, figures.CLOSING_RUN),
        ("run folder", str(run_dir)),
        ("kernel", _kernel(outputs, result.best)),
        ("tree", str(outputs.tree)),
        ("report", str(outputs.report)),
        *([("note", outputs.tree_problem)] if outputs.tree_problem else []),
    ]
    return [f"{label:<{_LABEL}}{text}" for label, text in lines]


def _failures(result: Result) -> list[str]:
    """Why nothing was found, where every trial failed: each kind with its count and an example."""
    trials = result.nodes[1:]
    if not trials or any(node.kind == "measured" for node in trials):
        return []
    kinds: dict[str, list[NodeRecord]] = {}
    for node in trials:
        kinds.setdefault(_kind_of_failure(node), []).append(node)
    return [
        f"{len(nodes)} {kind}: node {nodes[-1].id}: {_reason(nodes[-1])}"
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
