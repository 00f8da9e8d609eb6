"""Sections of the report: what the proposals cost, which branches lost, what methods are worth.

All of it may hold what a model wrote: every text is escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from experiments import worth_text
from experiments.branching import Branches, branch_rows
from experiments.spending_text import UNKNOWN, cost_text, money_text, tokens_text
from mcts.record import NodeRecord, Result
from mcts.spending import NOTHING, Spending, spent_on_reply

_NUMBERS = frozenset({"node", "read", "written", "cost", "seconds", "requests", "gain"})
_REPLY = (
    "node", "prompt", "model", "read", "written", "cost", "seconds", "requests",
    "left out of the prompt", "note",
)  # fmt: skip
_LONGEST = 120


def account_html(result: Result) -> str:
    """What each reply of a model took, and the sum to the cent; empty where nobody was asked."""
    total = result.spending
    if total.replies == 0:
        return ""
    asked = [node for node in result.nodes if spent_on_reply(node.usage).replies]
    rows = [_reply(node) for node in asked]
    besides = _besides(total, result.nodes)
    if besides.replies:
        rest = {"prompt": "trials that came to no node, and attribution"}
        rows.append(rest | {"cost": cost_text(besides), "note": tokens_text(besides)})
    rows.append({"prompt": "in all", "cost": cost_text(total), "note": tokens_text(total)})
    table = _table([[row.get(title, "") for title in _REPLY] for row in rows], _REPLY, last="sum")
    sums = f"In all {cost_text(total)} and {tokens_text(total)}."
    return f'<p class="soft">{_e(sums)}</p>{table}'


def _reply(node: NodeRecord) -> dict[str, str]:
    usage, spent = node.usage, node.spending
    return {
        "node": str(node.id),
        "prompt": _text(usage.get("prompt")),
        "model": _text(usage.get("model")) or UNKNOWN,
        "read": _count(usage.get("prompt_tokens")),
        "written": _count(usage.get("completion_tokens")),
        "cost": money_text(spent.cost) if spent.replies > spent.unpriced else UNKNOWN,
        "seconds": _text(usage.get("seconds")),
        "requests": _text(usage.get("attempts")),
        "left out of the prompt": _left_out(usage.get("dropped")),
        "note": ", ".join(_notes(usage)),
    }


def _notes(usage: Mapping[str, Any]) -> Iterable[str]:
    if usage.get("cached"):
        yield "from the cache"
    replies = usage.get("replies")
    if isinstance(replies, int) and replies > 1:
        yield f"{replies} replies"
    if asked := _text(usage.get("asked")):
        yield f"asked {asked}"


def _besides(total: Spending, nodes: Iterable[NodeRecord]) -> Spending:
    """What replies cost that led to no node."""
    known = sum((node.spending for node in nodes), NOTHING)
    return Spending(
        cost=max(Decimal(0), total.cost - known.cost),
        tokens=max(0, total.tokens - known.tokens),
        replies=max(0, total.replies - known.replies),
        unpriced=max(0, total.unpriced - known.unpriced),
        uncounted=max(0, total.uncounted - known.uncounted),
    )


def methods_html(result: Result) -> str:
    """What each method is worth that was taken out again; empty where none was."""
    found = worth_text.attributed(result.nodes)
    if not found:
        return ""
    rows = [worth_text.cells(node, attribution) for node, attribution in found]
    kinds = [attribution.worth for _, attribution in found]
    return _table(rows, worth_text.TITLES, kinds=kinds)


def branches_html(result: Result, branches: Branches) -> str:
    """Per proposal with branches which values were measured; empty where there were none."""
    rows = [
        (str(node.id), *row)
        for node in result.nodes
        if branches.get(node.id)
        for row in branch_rows(node, branches[node.id])
    ]
    if not rows:
        return ""
    kinds = ["path" if row[-1] else "" for row in rows]
    return _table(rows, ("node", "values", "outcome", ""), kinds=kinds)


def _table(
    rows: Sequence[Sequence[str]],
    titles: Sequence[str],
    *,
    kinds: Sequence[str] = (),
    last: str = "",
) -> str:
    """A table without the columns that no row has anything for; `kinds` are classes of rows."""
    shown = [at for at in range(len(titles)) if any(row[at] for row in rows)]
    classes = ["num" if title in _NUMBERS else "" for title in titles]
    head = "".join(f'<th class="{classes[at]}">{_e(titles[at])}</th>' for at in shown)
    body = ""
    for number, row in enumerate(rows):
        kind = kinds[number] if kinds else last if number == len(rows) - 1 else ""
        cells = "".join(f'<td class="{classes[at]}">{_e(row[at])}</td>' for at in shown)
        body += f'<tr class="{kind}">{cells}</tr>'
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _left_out(dropped: object) -> str:
    if not isinstance(dropped, Mapping):
        return ""
    return _text(", ".join(f"{count} {kind}" for kind, count in dropped.items()))


def _count(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else UNKNOWN


def _text(value: object) -> str:
    """A text or number of a journalled usage on one line; anybody's proposer may have put it."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    line = " ".join(str(value).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _e(text: str) -> str:
    return html.escape(text, quote=True)
