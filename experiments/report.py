"""The report of a run: one page with no scripts, that needs neither a server nor the network.

Everything a candidate or a model wrote is text and is escaped; the content security policy
forbids the rest.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping
from importlib.resources import files

from experiments.branching import Branches
from experiments.changes import changes, source_diff
from experiments.energy_text import energy_text
from experiments.findings import finding_words, findings_html
from experiments.report_account import account_html, branches_html, methods_html
from mcts.domain import Evaluation, Timing
from mcts.progress import status_words
from mcts.record import NodeRecord, Result

_NO_BRANCHES: Branches = {}
_METHODS = (
    "Each of these methods was taken out of its variant again, and what was left was measured. "
    "Gain: the time without the method over the time with it, less 1, with its 95 % interval."
)
_BRANCHES = "The same idea with several values of its tunables; the best became the node."
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'"


def report_html(
    *,
    facts: Mapping[str, str],
    result: Result,
    svg: bytes | None,
    branches: Branches = _NO_BRANCHES,
) -> str:
    """The page. `facts` are shown as they are; `svg` is the tree's picture, where there is one;
    `branches` are those that lost, by node.
    """
    best = result.best
    assert best.verdict is not None and best.verdict.timing is not None
    title = f"{facts['Task']}: {best.verdict.timing.speedup:.2f}×"
    body = "\n".join(
        [
            f"<h1>{_e(facts['Task'])}</h1>",
            f'<p class="lead">Measured by {_e(facts["Evaluator"])} on {_e(facts["Hardware"])}, '
            f"proposed by {_e(facts['Proposer'])}.</p>",
            f'<div class="top">{_best(result, best.verdict)}{_facts(facts)}</div>',
            _tree(svg),
            _optional("What the methods are worth", methods_html(result), _METHODS),
            _guidance(result),
            _diff(result),
            _source(best),
            _optional("Branches", branches_html(result, branches), _BRANCHES),
            _optional("What the model was asked, and took", account_html(result)),
            _nodes(result),
        ]
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_e(title)}</title><style>{_style()}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def _style() -> str:
    return (files("experiments") / "report.css").read_text(encoding="utf-8")


def _best(result: Result, verdict: Evaluation) -> str:
    timing = verdict.timing
    assert timing is not None, "the best is measured"
    share = 100 * min(1.0, timing.median_us / timing.baseline_us)
    over = f", over {timing.baseline}" if timing.baseline != "baseline" else ""
    before, after = result.baseline.candidate, result.best.candidate
    words = changes(before, after).words() if before and after else ()
    chips = "".join(f'<span class="chip">{_e(word)}</span>' for word in words)
    return _section(
        "Best kernel",
        f'<div class="big">{timing.speedup:.2f}×</div>'
        f'<div class="soft">95 % interval {timing.speedup_low:.2f} to {timing.speedup_high:.2f}, '
        f"{timing.rounds} rounds, node {result.best.id}{_e(over)}</div>"
        f"{_proof(result, verdict, timing)}"
        f'<div class="bar-note">{_e(timing.baseline)} {timing.baseline_us:.2f} µs'
        '<div class="bar" style="width:100%"></div></div>'
        f'<div class="bar-note">best {timing.median_us:.2f} µs'
        f'<div class="bar best" style="width:{share:.1f}%"></div></div>'
        f"<h3>Changed against the baseline</h3>{chips or 'nothing'}",
    )


def _proof(result: Result, verdict: Evaluation, timing: Timing) -> str:
    """How well the best is known: its second measurement, resolution, energy, and notes."""
    lines = []
    if result.best.confirmed is not None:
        searched = result.best.speedup or 0.0
        lines.append(f"confirmed by a second measurement; {searched:.2f}× while searching")
    elif result.confirmed:
        lines.append("no finalist is faster than the baseline when measured again")
    if timing.detectable is not None:
        lines.append(resolution_words(timing.detectable))
    if verdict.energy is not None:
        lines.append(energy_text(verdict.energy))
    lines += verdict.notes
    return "".join(f'<div class="soft">{_e(line)}</div>' for line in lines)


def resolution_words(detectable: float) -> str:
    return f"smallest difference this run can resolve: {100 * detectable:.2f} %"


def _energy(evaluation: Evaluation | None) -> str:
    energy = evaluation.energy if evaluation else None
    if energy is None:
        return ""
    return f"{energy.energy_mj:.4g} ({energy.low_mj:.4g} to {energy.high_mj:.4g})"


def _facts(facts: Mapping[str, str]) -> str:
    rows = "".join(f"<dt>{_e(name)}</dt><dd>{_e(value)}</dd>" for name, value in facts.items())
    return _section("The run", f"<dl>{rows}</dl>")


def _tree(svg: bytes | None) -> str:
    if svg is None:
        return _section("The tree", "Not drawn: neither dot nor graphviz-pure is installed.")
    data = base64.b64encode(svg).decode()
    image = f'<img alt="the search tree" src="data:image/svg+xml;base64,{data}">'
    return _section("The tree", f'<div class="scroll tree">{image}</div>')


def _guidance(result: Result) -> str:
    said = findings_html(result.path_to(result.best))
    return _section("What the tools said on the way to the best", said or "Nothing.")


def _diff(result: Result) -> str:
    before, after = result.baseline.candidate, result.best.candidate
    lines = source_diff(before, after) if before and after else []
    if not lines:
        return ""
    text = "\n".join(_diff_line(line) for line in lines)
    return _section("Best against baseline", f'<div class="scroll"><pre>{text}</pre></div>')


def _diff_line(line: str) -> str:
    kind = {"+": "add", "-": "del", "@": "at"}.get(line[:1])
    return f'<span class="{kind}">{_e(line)}</span>' if kind else _e(line)


def _source(best: NodeRecord) -> str:
    if best.candidate is None:
        return ""
    tunables = ", ".join(f"{name} = {value}" for name, value in best.candidate.tunables.items())
    head = f'<p class="soft">Tunables: {_e(tunables)}</p>' if tunables else ""
    if not best.candidate.source:
        return _section("Best candidate", head or "It has neither source nor tunables.")
    source = f'<div class="scroll"><pre>{_e(best.candidate.source)}</pre></div>'
    return _section("Best kernel's source", head + source)


def _nodes(result: Result) -> str:
    path = {node.id for node in result.path_to(result.best)}
    by_id = {node.id: node for node in result.nodes}
    rows = [_cells(node, by_id) for node in result.nodes]
    # A column that no node has anything for is left out.
    shown = [name for name in rows[0] if any(row[name][1] for row in rows)]
    head = "".join(
        f'<th class="{"num" if rows[0][name][0] == "num" else ""}">{_e(name)}</th>'
        for name in shown
    )
    body = ""
    for node, row in zip(result.nodes, rows, strict=True):
        style = f"{node.kind} path" if node.id in path else node.kind
        cells = "".join(f'<td class="{row[name][0]}">{_e(row[name][1])}</td>' for name in shown)
        body += f'<tr class="{style}">{cells}</tr>'
    table = f"<table><tr>{head}</tr>{body}</table>"
    return _section("All nodes", f'<div class="scroll">{table}</div>')


def _cells(node: NodeRecord, by_id: Mapping[int, NodeRecord]) -> dict[str, tuple[str, str]]:
    """A node's row: by column, the cell's class and text."""
    timing = node.evaluation.timing if node.evaluation and node.evaluation.measured else None
    parent = by_id[node.parent].candidate if node.parent is not None else None
    words = changes(parent, node.candidate).words() if parent and node.candidate else ()
    outcome = _outcome(node)
    interval = f"{timing.speedup_low:.2f} to {timing.speedup_high:.2f}" if timing else ""
    return {
        "node": ("num", str(node.id)),
        "parent": ("num", "" if node.parent is None else str(node.parent)),
        "speedup": ("num", f"{timing.speedup:.2f}×" if timing else ""),
        "interval": ("num", interval),
        "confirmed": ("num", _confirmed(node.confirmed)),
        "time, µs": ("num", f"{timing.median_us:.2f}" if timing else ""),
        "energy, mJ": ("num", _energy(node.verdict)),
        "visits": ("num", str(node.visits)),
        "changed": ("", ", ".join(words)),
        "outcome": ("wide" if len(outcome) > 60 else "", _shorten(outcome)),
        "the tools said": ("wide" if node.guidance else "", finding_words(node.guidance)),
    }


def _outcome(node: NodeRecord) -> str:
    if node.kind == "duplicate":
        return f"same as node {node.duplicate_of}"
    if node.kind == "rejected" or node.evaluation is None:
        return f"no candidate: {node.reason}"
    if node.kind == "failed":
        return f"{status_words(node.evaluation)}: {node.reason}"
    if node.confirmed is not None and not node.confirmed.measured:
        return f"not confirmed, {status_words(node.confirmed)}: {node.confirmed.message}"
    return "measured"


def _confirmed(again: Evaluation | None) -> str:
    timing = again.timing if again is not None and again.measured else None
    if timing is None:
        return "" if again is None else "no"
    return f"{timing.speedup:.2f}× ({timing.speedup_low:.2f} to {timing.speedup_high:.2f})"


def _shorten(text: str, limit: int = 240) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _optional(title: str, content: str, words: str = "") -> str:
    """A section, if there is anything for it."""
    head = f'<p class="soft">{_e(words)}</p>' if words else ""
    return _section(title, head + content) if content else ""


def _section(title: str, content: str) -> str:
    return f"<section><h2>{_e(title)}</h2>{content}</section>"


def _e(text: str) -> str:
    return html.escape(text, quote=True)
