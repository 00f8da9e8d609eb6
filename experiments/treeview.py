"""The search tree as a picture: what was tried, what it brought, where the best came from."""

from __future__ import annotations

import heapq
import html
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.changes import changes
from experiments.spending_text import cost_text

if TYPE_CHECKING:
    import graphviz

    from mcts.domain import Evaluation
    from mcts.record import NodeRecord, Result

MAX_NODES = 300
_INK, _FAINT, _GOLD, _RED = "#1f2933", "#9aa5b1", "#d97706", "#b42318"
_RAMP = ("#eef2f6", "#dcefe3", "#b7e0c5", "#86cda0", "#4fb477", "#249455")
_SLOW = "#f8e3d0"
_FONT = "Arial"
_SHOWN_CHANGES = 4


@dataclass(frozen=True, slots=True)
class Folded:
    """The part of the tree that is drawn, and how many nodes hide below each drawn one."""

    shown: tuple[NodeRecord, ...]
    hidden: Mapping[int, int]


def tree_source(result: Result, *, title: str, max_nodes: int = MAX_NODES) -> graphviz.Digraph:
    """The tree as graphviz source, folded to at most `max_nodes` nodes."""
    import graphviz

    graph = graphviz.Digraph("rooftree", graph_attr=_GRAPH, node_attr=_NODE, edge_attr=_EDGE)
    graph.attr(label=_title(result, title), labelloc="t", labeljust="l")
    folded = fold(result, max_nodes)
    by_id = {node.id: node for node in result.nodes}
    path = {node.id for node in result.path_to(result.best)}
    top = math.log(max(_speedup(result.best) or 1.0, 1.02))
    for node in folded.shown:
        graph.node(str(node.id), **_draw(node, by_id, path, result.best.id, top))
        if node.parent is not None:
            graph.edge(str(node.parent), str(node.id), **_edge(node, path))
        if hidden := folded.hidden.get(node.id):
            more = {"label": f"+{hidden}", "shape": "plaintext", "style": "", "fontcolor": _FAINT}
            graph.node(f"more{node.id}", **more)
            graph.edge(str(node.id), f"more{node.id}", style="dotted", color=_FAINT)
    return graph


_GRAPH = {
    "rankdir": "LR", "bgcolor": "white", "fontname": _FONT, "fontsize": "13",
    "fontcolor": _INK, "nodesep": "0.12", "ranksep": "0.55", "pad": "0.3", "outputorder":
    "edgesfirst", "splines": "true",
}  # fmt: skip
_NODE = {
    "shape": "box", "style": "filled,rounded", "fontname": _FONT, "fontsize": "10",
    "fontcolor": _INK, "color": "#c3ccd6", "penwidth": "1", "margin": "0.16,0.05", "height": "0.3",
}  # fmt: skip
_EDGE = {"color": "#c3ccd6", "arrowhead": "none", "penwidth": "1"}


def fold(result: Result, max_nodes: int) -> Folded:
    """Keep the path to the best, then what the search found worth most visits, duplicates last."""
    children: dict[int, list[NodeRecord]] = defaultdict(list)
    for node in result.nodes[1:]:
        children[node.parent or 0].append(node)
    kept = {node.id for node in result.path_to(result.best)}
    queue = [_rank(child) for id in kept for child in children[id] if child.id not in kept]
    heapq.heapify(queue)
    while queue and len(kept) < max_nodes:
        *_, id = heapq.heappop(queue)
        kept.add(id)
        for child in children[id]:
            heapq.heappush(queue, _rank(child))
    shown = tuple(node for node in result.nodes if node.id in kept)
    sizes = _subtree_sizes(result.nodes)
    hidden = {id: sum(sizes[c.id] for c in children[id] if c.id not in kept) for id in kept}
    return Folded(shown, {id: count for id, count in hidden.items() if count})


def _rank(node: NodeRecord) -> tuple[bool, int, float, int]:
    return (node.kind == "duplicate", -node.visits, -(node.speedup or 0.0), node.id)


def _subtree_sizes(nodes: Iterable[NodeRecord]) -> dict[int, int]:
    ordered = list(nodes)
    sizes = {node.id: 1 for node in ordered}
    for node in reversed(ordered):
        if node.parent is not None:
            sizes[node.parent] += sizes[node.id]
    return sizes


def _draw(
    node: NodeRecord, by_id: Mapping[int, NodeRecord], path: set[int], best: int, top: float
) -> dict[str, str]:
    style = _style(node, top)
    if node.id in path:
        style |= {"color": _GOLD, "penwidth": "3" if node.id == best else "2"}
    return {**style, "label": _label(node, by_id, best), "tooltip": _tooltip(node)}


def _speedup(node: NodeRecord) -> float | None:
    """The speedup that counts: the confirmed one where there is one."""
    return node.verdict.speedup if node.verdict else None


def _style(node: NodeRecord, top: float) -> dict[str, str]:
    match node.kind:
        case "measured" if (speedup := _speedup(node)) is not None:
            fill = _colour(speedup, top)
            return {"fillcolor": fill, "fontcolor": "white" if fill == _RAMP[-1] else _INK}
        case "duplicate":
            return {
                "style": "rounded,dashed", "color": "#cbd2d9", "fontcolor": "#7b8794",
                "height": "0.2", "margin": "0.12,0.02",
            }  # fmt: skip
        case _:
            return {
                "shape": "box", "style": "filled", "fillcolor": "#fdecea", "color": "#e5a49d",
                "fontcolor": _RED,
            }  # fmt: skip


def _colour(speedup: float, top: float) -> str:
    """Grey at the baseline, greener with the logarithm of the speedup; sand where slower."""
    gained = math.log(speedup)
    if gained < -0.01:
        return _SLOW
    return _RAMP[min(len(_RAMP) - 1, max(0, round(gained / top * (len(_RAMP) - 1))))]


def _label(node: NodeRecord, by_id: Mapping[int, NodeRecord], best: int) -> str:
    small = '<font point-size="8">'
    if node.kind == "duplicate":
        words = ", ".join(_moves(node, by_id))
        return f"<{small}{html.escape(words)} = #{node.duplicate_of}</font>>"
    lines = [f"<b>{html.escape(_headline(node, best))}</b>"]
    lines += [f"{small}{html.escape(word)}</font>" for word in _moves(node, by_id)]
    lines += [f"{small}{html.escape(word)}</font>" for word in _seen_before(node)]
    lines += [f"{small}{html.escape(word)}</font>" for word in _branching(node)]
    lines.append(f'<font point-size="7">#{node.id}, {_visits(node.visits)}</font>')
    return f"<{'<br/>'.join(lines)}>"


def _headline(node: NodeRecord, best: int) -> str:
    if node.parent is None:
        return "baseline" if node.id != best else "baseline, still the best"
    if node.kind == "rejected":
        return "no candidate"
    speedup = _speedup(node)
    if speedup is None:
        return _failure(node.verdict)
    return f"{'★ ' if node.id == best else ''}{speedup:.2f}×"


def _failure(verdict: Evaluation | None) -> str:
    """The status, and of a refusal the class of what was seen."""
    if verdict is None:
        return "failed"
    named = [verdict.status, *([verdict.refusal.cheat] if verdict.refusal else [])]
    return ": ".join(named).replace("_", " ")


def _seen_before(node: NodeRecord) -> list[str]:
    """What the search saw of a finalist that was measured again."""
    if node.confirmed is None or node.speedup is None:
        return []
    return [f"{node.speedup:.2f}× while searching"]


def _branching(node: NodeRecord) -> list[str]:
    """That the node is the best of several values, or a branch that had lost to another."""
    words = ["branch taken up again"] if node.restarted else []
    if node.branches:
        words.append(f"best of {len(node.branches) + 1} values")
    return words


def _moves(node: NodeRecord, by_id: Mapping[int, NodeRecord]) -> list[str]:
    """What the node changed against its parent."""
    parent = by_id[node.parent].candidate if node.parent is not None else None
    if parent is None or node.candidate is None:
        return []
    changed = changes(parent, node.candidate)
    words = list(changed.words())
    if changed.source:
        words += [method.partition(".")[2] or method for method in changed.methods]
    if len(words) > _SHOWN_CHANGES:
        words = [*words[: _SHOWN_CHANGES - 1], f"and {len(words) - _SHOWN_CHANGES + 1} more"]
    return words


def _visits(count: int) -> str:
    return f"{count} visit{'' if count == 1 else 's'}"


def _tooltip(node: NodeRecord) -> str:
    import graphviz

    text = node.reason or (node.candidate.rationale if node.candidate else "")
    if node.confirmed is not None and not node.confirmed.measured:
        text = f"not confirmed: {node.confirmed.message}"
    # What a model wrote must not be taken for markup: graphviz reads <...> and backslashes.
    return graphviz.escape(" ".join(text.split())[:300]) or f"node {node.id}"


def _edge(node: NodeRecord, path: set[int]) -> dict[str, str]:
    if node.id in path:
        return {"color": _GOLD, "penwidth": "3"}
    return {"style": "dashed"} if node.kind == "duplicate" else {}


def _title(result: Result, title: str) -> str:
    """Heading and legend as one HTML-like table."""
    best = _speedup(result.best) or 1.0
    counts = f"{result.evaluations} trials, {result.unique} unique, {result.failed} failed"
    if cost := cost_text(result.spending):
        counts += f", {cost}"
    keys = "".join(
        f'<td bgcolor="{fill}"> <font color="{ink}" point-size="9">{text}</font> </td>'
        for fill, ink, text in _LEGEND
    )
    return (
        '<<table border="0" cellborder="0" cellspacing="4" cellpadding="2">'
        f'<tr><td align="left" colspan="{len(_LEGEND)}"><font point-size="16">'
        f"<b>{html.escape(title)}</b></font></td></tr>"
        f'<tr><td align="left" colspan="{len(_LEGEND)}"><font color="#616e7c">'
        f"best {best:.2f}×, {counts}</font></td></tr><tr>{keys}</tr></table>>"
    )


_LEGEND = (
    (_SLOW, _INK, "slower"),
    (_RAMP[0], _INK, "like the baseline"),
    (_RAMP[3], _INK, "faster"),
    (_RAMP[5], "white", "near the best"),
    ("#fdecea", _RED, "failed"),
    ("white", "#7b8794", "dashed: tried before"),
    ("white", _GOLD, "<b>gold: path to the best</b>"),
)
