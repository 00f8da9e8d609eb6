"""The report of a run: one page with no scripts, that needs neither a server nor the network.

Everything a candidate or a model wrote is text and is escaped; the content security policy
forbids the rest.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Set
from importlib.resources import files

from experiments.changes import changes, source_diff
from experiments.findings import finding_words, findings_html
from mcts.domain import Timing
from mcts.record import NodeRecord, Result

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'"


def report_html(*, facts: Mapping[str, str], result: Result, svg: bytes | None) -> str:
    """The page. `facts` are shown as they are; `svg` is the tree's picture, where there is one."""
    best = result.best
    assert best.evaluation is not None and best.evaluation.timing is not None
    title = f"{facts['Task']}: {best.evaluation.timing.speedup:.2f}×"
    body = "\n".join(
        [
            f"<h1>{_e(facts['Task'])}</h1>",
            f'<p class="lead">Measured by {_e(facts["Evaluator"])} on {_e(facts["Hardware"])}, '
            f"proposed by {_e(facts['Proposer'])}.</p>",
            f'<div class="top">{_best(result, best.evaluation.timing)}{_facts(facts)}</div>',
            _tree(svg),
            _guidance(result),
            _diff(result),
            _source(best),
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


def _best(result: Result, timing: Timing) -> str:
    share = 100 * min(1.0, timing.median_us / timing.baseline_us)
    before, after = result.baseline.candidate, result.best.candidate
    words = changes(before, after).words() if before and after else ()
    chips = "".join(f'<span class="chip">{_e(word)}</span>' for word in words)
    return _section(
        "Best kernel",
        f'<div class="big">{timing.speedup:.2f}×</div>'
        f'<div class="soft">95 % interval {timing.speedup_low:.2f} to {timing.speedup_high:.2f}, '
        f"{timing.rounds} rounds, node {result.best.id}</div>"
        f'<div class="bar-note">baseline {timing.baseline_us:.2f} µs'
        '<div class="bar" style="width:100%"></div></div>'
        f'<div class="bar-note">best {timing.median_us:.2f} µs'
        f'<div class="bar best" style="width:{share:.1f}%"></div></div>'
        f"<h3>Changed against the baseline</h3>{chips or 'nothing'}",
    )


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
    head = (
        '<tr><th class="num">node</th><th class="num">parent</th><th class="num">speedup</th>'
        '<th class="num">interval</th><th class="num">time, µs</th><th class="num">visits</th>'
        "<th>changed</th><th>outcome</th><th>the tools said</th></tr>"
    )
    rows = "".join(_row(node, by_id, path) for node in result.nodes)
    return _section("All nodes", f'<div class="scroll"><table>{head}{rows}</table></div>')


def _row(node: NodeRecord, by_id: Mapping[int, NodeRecord], path: Set[int]) -> str:
    timing = node.evaluation.timing if node.evaluation and node.evaluation.measured else None
    parent = by_id[node.parent].candidate if node.parent is not None else None
    words = changes(parent, node.candidate).words() if parent and node.candidate else ()
    outcome = {
        "measured": "measured",
        "duplicate": f"same as node {node.duplicate_of}",
        "rejected": f"no candidate: {node.reason}",
        "failed": f"{node.evaluation.status if node.evaluation else 'failed'}: {node.reason}",
    }[node.kind]
    interval = f"{timing.speedup_low:.2f} to {timing.speedup_high:.2f}" if timing else ""
    cells = [
        ("num", str(node.id)),
        ("num", "" if node.parent is None else str(node.parent)),
        ("num", f"{timing.speedup:.2f}×" if timing else ""),
        ("num", interval),
        ("num", f"{timing.median_us:.2f}" if timing else ""),
        ("num", str(node.visits)),
        ("", ", ".join(words)),
        ("wide" if len(outcome) > 60 else "", _shorten(outcome)),
        ("wide" if node.guidance else "", finding_words(node.guidance)),
    ]
    style = f"{node.kind} path" if node.id in path else node.kind
    filled = "".join(f'<td class="{kind}">{_e(text)}</td>' for kind, text in cells)
    return f'<tr class="{style}">{filled}</tr>'


def _shorten(text: str, limit: int = 240) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _section(title: str, content: str) -> str:
    return f"<section><h2>{_e(title)}</h2>{content}</section>"


def _e(text: str) -> str:
    return html.escape(text, quote=True)
