"""What a run's language model was asked and took, summed by prompt and model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from experiments.text.lookups import lookups_of, lookups_text
from experiments.text.spending import cost_text, tokens_text
from experiments.views.report.text import line
from mcts.journal.record import NodeRecord, Result
from mcts.journal.spending import NOTHING, Spending, spent_on_reply

_NO_NODE = "trials that came to no node, and attribution"


def account_rows(result: Result) -> list[dict[str, Any]]:
    """A row per prompt and model, what led to no node, and the sum; empty if nobody was asked.

    Costs are texts that add up to the last digit, so that nothing is lost in a sum.
    """
    total = result.spending
    if total.replies == 0:
        return []
    groups: dict[tuple[str, str], Spending] = {}
    nodes: dict[tuple[str, str], int] = {}
    seconds: dict[tuple[str, str], float] = {}
    for node in result.nodes:
        if spent_on_reply(node.usage).replies:
            key = text_of(node.usage.get("prompt")), _models(node.usage)
            groups[key] = groups.get(key, NOTHING) + node.spending
            nodes[key] = nodes.get(key, 0) + 1
            seconds[key] = seconds.get(key, 0.0) + _seconds(node.usage)
    rows = [
        {"prompt": prompt, "model": model, "nodes": nodes[prompt, model],
         "seconds": round(seconds[prompt, model], 1)} | _spent(spent)
        for (prompt, model), spent in sorted(groups.items())
    ]  # fmt: skip
    besides = _besides(total, result.nodes)
    if besides.replies or besides.cost:
        rows.append(
            {"prompt": _NO_NODE, "model": "", "nodes": 0, "seconds": None, **_spent(besides)}
        )
    rows.append({"prompt": "in all", "model": "", "nodes": sum(nodes.values()), "seconds": None,
                 **_spent(total)})  # fmt: skip
    return rows


def usage_rows(node: NodeRecord) -> list[tuple[str, str]]:
    """What one node's replies took, as name and text; empty if nobody was asked."""
    usage, spent = node.usage, node.spending
    if not spent_on_reply(usage).replies:
        return []
    rows = [
        ("prompt", text_of(usage.get("prompt"))),
        ("model", _models(usage)),
        ("asked", text_of(usage.get("asked"))),
        ("tokens read", _count(usage.get("prompt_tokens"))),
        ("tokens written", _count(usage.get("completion_tokens"))),
        ("of these reasoning", text_of(usage.get("reasoning_tokens"))),
        ("cost", cost_text(spent)),
        ("seconds", text_of(usage.get("seconds"))),
        ("replies", text_of(usage.get("replies"))),
        ("requests", text_of(usage.get("attempts"))),
        ("from the cache", "yes" if usage.get("cached") else ""),
        ("left out of the prompt", _left_out(usage.get("dropped"))),
        ("failed requests", _listed(usage.get("faults"))),
        ("looked into", text_of(usage.get("library"))),
        ("looked up", lookups_text(looked := lookups_of(usage))),
        *(
            (f"look-up {number}", line(f"{one.question} → {one.found}", 400))
            for number, one in enumerate(looked, start=1)
        ),
    ]
    return [(name, text) for name, text in rows if text]


def _spent(spent: Spending) -> dict[str, Any]:
    return {
        "replies": spent.replies,
        "tokens": tokens_text(spent),
        "cost": cost_text(spent),
        "cost_usd": str(spent.cost),
    }


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


def _models(usage: Mapping[str, Any]) -> str:
    """Who answered: all of them, where several did."""
    models = usage.get("models")
    if isinstance(models, list | tuple) and models:
        return line(", ".join(str(model) for model in models), 120)
    return text_of(usage.get("model")) or "unknown"


def _seconds(usage: Mapping[str, Any]) -> float:
    value = usage.get("seconds")
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known and value is not None else 0.0


def _left_out(dropped: object) -> str:
    if not isinstance(dropped, Mapping):
        return ""
    return line(", ".join(f"{count} {kind}" for kind, count in dropped.items()), 300)


def _listed(faults: object) -> str:
    if not isinstance(faults, list | tuple):
        return ""
    return line("; ".join(str(fault) for fault in faults), 600)


def _count(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else "unknown"


def text_of(value: object) -> str:
    """A text or number of a journalled usage on one line; anybody's proposer may have put it."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return line(str(value), 120)
