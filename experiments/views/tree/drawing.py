"""The search tree as a picture: what was tried, what it brought, where the best came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from experiments.text.nodes import fit
from experiments.text.spending import cost_text
from experiments.views.tree import labels as treelabels
from experiments.views.tree.folding import Folded, fold
from experiments.views.tree.labels import speedup_of

if TYPE_CHECKING:
    import graphviz

    from mcts.journal.record import NodeRecord, Result

__all__ = ["MAX_NODES", "Folded", "fold", "tree_source"]

MAX_NODES = 120
"""Boxes of a picture unless told otherwise: what still reads well on a page that scrolls."""
_INK, _GREY, _FAINT, _GOLD, _RED = "#1f2933", "#616e7c", "#9aa5b1", "#d97706", "#b42318"
_LINE, _BLUSH = "#c3ccd6", "#fdecea"
_RAMP = ("#eef2f6", "#dcefe3", "#b7e0c5", "#86cda0", "#4fb477", "#1f8a4c")
_SLOW = "#f8e3d0"
_FONT = "Verdana"
"""Boxes are as wide as this font needs, which is the widest of those that a picture is seen in."""
_SAME, _NEAR = 0.01, 0.03
"""Logarithms of a speedup: as slow as the baseline, and near the best."""
_TITLE = 110
_HINT = 300

Style = dict[str, str]


def tree_source(
    result: Result,
    *,
    title: str,
    max_nodes: int = MAX_NODES,
    pruned: frozenset[int] = frozenset(),
) -> graphviz.Digraph:
    """The tree as graphviz source, folded to at most `max_nodes` boxes.

    `pruned` are the nodes that the search has given up, as `given_up` finds them.
    """
    import graphviz

    graph = graphviz.Digraph("rooftree", graph_attr=_GRAPH, node_attr=_NODE, edge_attr=_EDGE)
    folded = fold(result, max_nodes)
    graph.attr(label=_title(result, folded, title), labelloc="t", labeljust="l")
    view = _View.of(result, folded, pruned)
    for node in folded.shown:
        graph.node(str(node.id), **_draw(node, view))
        if node.parent is not None:
            graph.edge(str(node.parent), str(node.id), **_edge(node, view))
        if stub := folded.hidden.get(node.id):
            graph.node(f"more{node.id}", label=treelabels.of_stub(stub), **_STUB)
            graph.edge(str(node.id), f"more{node.id}", style="dotted", color=_FAINT)
    for node in folded.shown:
        if node.kind == "duplicate" and node.duplicate_of in view.shown:
            graph.edge(str(node.id), str(node.duplicate_of), **_TWIN)
    return graph


_GRAPH = {
    "rankdir": "LR", "bgcolor": "white", "fontname": _FONT, "fontsize": "13",
    "fontcolor": _INK, "nodesep": "0.12", "ranksep": "0.45", "pad": "0.3", "outputorder":
    "edgesfirst", "splines": "true",
}  # fmt: skip
_NODE = {
    "shape": "box", "style": "filled,rounded", "fontname": _FONT, "fontsize": "11",
    "fontcolor": _INK, "color": _LINE, "penwidth": "1", "margin": "0.14,0.05", "height": "0.3",
}  # fmt: skip
_EDGE = {"color": _LINE, "arrowhead": "none", "penwidth": "1"}
_STUB = {
    "shape": "folder", "style": "filled", "fillcolor": "white", "color": _LINE,
    "fontcolor": _GREY, "margin": "0.12,0.04", "height": "0.2",
}  # fmt: skip
_TWIN = {
    "style": "dashed", "color": "#a78bda", "constraint": "false", "arrowhead": "vee",
    "arrowsize": "0.5",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """What a node's looks depend on besides itself. `top`: logarithm of the best speedup."""

    nodes: Mapping[int, NodeRecord]
    shown: frozenset[int]
    path: frozenset[int]
    best: int
    top: float
    pruned: frozenset[int] = field(default=frozenset())

    @classmethod
    def of(cls, result: Result, folded: Folded, pruned: frozenset[int]) -> _View:
        path = frozenset(node.id for node in result.path_to(result.best))
        return cls(
            nodes={node.id: node for node in result.nodes},
            shown=frozenset(node.id for node in folded.shown),
            path=path,
            best=result.best.id,
            top=math.log(max(speedup_of(result.best) or 1.0, 1.1)),
            pruned=pruned - path,
        )


def _draw(node: NodeRecord, view: _View) -> Style:
    style = _style(node, view)
    if node.id in view.path:
        style |= {"color": _GOLD, "penwidth": "4" if node.id == view.best else "2.5"}
    parent = view.nodes[node.parent] if node.parent is not None else None
    twin = view.nodes.get(node.duplicate_of) if node.duplicate_of is not None else None
    label = treelabels.of_node(node, parent=parent, twin=twin, best=view.best)
    drawn = {**style, "label": label, "tooltip": _tooltip(node, view), "id": f"node{node.id}"}
    if twin is not None and twin.id in view.shown:
        drawn["URL"] = f"#node{twin.id}"
    return drawn


def _style(node: NodeRecord, view: _View) -> Style:
    speedup = speedup_of(node)
    if node.kind == "duplicate":
        return {
            "style": "rounded,dashed", "color": "#a78bda", "fontcolor": _GREY,
            "height": "0.2", "margin": "0.12,0.02",
        }  # fmt: skip
    given_up = node.id in view.pruned
    if speedup is None or node.kind != "measured":
        style = "filled,dotted" if given_up else "filled"
        return {"style": style, "fillcolor": _BLUSH, "color": "#d9776c", "fontcolor": _RED}
    if given_up:
        return {
            "style": "rounded,dotted", "color": _GREY, "fontcolor": _GREY,
        }  # fmt: skip
    fill = _colour(speedup, view.top)
    return {"fillcolor": fill, "fontcolor": "white" if fill == _RAMP[-1] else _INK}


def _colour(speedup: float, top: float) -> str:
    """Grey at the baseline, greener with the logarithm of the speedup; sand where slower."""
    gained = math.log(speedup)
    if gained < -_SAME:
        return _SLOW
    if gained >= top - _NEAR:
        return _RAMP[-1]
    if gained <= _SAME:
        return _RAMP[0]
    return _RAMP[min(len(_RAMP) - 2, max(1, round(gained / top * (len(_RAMP) - 2))))]


def _edge(node: NodeRecord, view: _View) -> Style:
    if node.id in view.path:
        return {"color": _GOLD, "penwidth": "3.5", "weight": "20"}
    if node.id in view.pruned:
        return {"style": "dotted", "color": _GREY}
    return {"style": "dashed"} if node.kind == "duplicate" else {}


def _tooltip(node: NodeRecord, view: _View) -> str:
    import graphviz

    text = node.reason or (node.candidate.rationale if node.candidate else "")
    if node.confirmed is not None and not node.confirmed.measured:
        text = f"not confirmed: {node.confirmed.message}"
    if node.id in view.pruned:
        text = f"given up by the search. {text}"
    # What a model wrote must not be taken for markup: graphviz reads <...> and backslashes.
    return graphviz.escape(fit(text, _HINT)) or f"node {node.id}"


def _title(result: Result, folded: Folded, title: str) -> str:
    """Heading and legend as one HTML-like table."""
    best = speedup_of(result.best) or 1.0
    words = [
        f"best {best:.2f}× at #{result.best.id}",
        f"{result.evaluations:,} trials",
        f"{result.unique:,} unique",
        f"{result.failed:,} failed",
    ]
    if folded.hidden:
        words.append(f"{len(folded.shown):,} of {len(result.nodes):,} nodes drawn, the rest folded")
    if cost := cost_text(result.spending):
        words.append(cost)
    keys = "".join(
        f'<td bgcolor="{fill}"> <font color="{ink}" point-size="9">{text}</font> </td>'
        for fill, ink, text in _LEGEND
    )
    heading = treelabels.text(fit(title, _TITLE))
    span = f'<td align="left" colspan="{len(_LEGEND)}">'
    return (
        '<<table border="0" cellborder="0" cellspacing="4" cellpadding="2">'
        f'<tr>{span}<font point-size="16"><b>{heading}</b></font></td></tr>'
        f'<tr>{span}<font color="{_GREY}">{treelabels.text(", ".join(words))}</font></td></tr>'
        f"<tr>{keys}</tr></table>>"
    )


_LEGEND = (
    (_SLOW, _INK, "slower"),
    (_RAMP[0], _INK, "like the baseline"),
    (_RAMP[3], _INK, "faster"),
    (_RAMP[5], "white", "within 3 % of the best"),
    (_BLUSH, _RED, "square: failed"),
    ("white", "#7c5cbf", "dashed: tried before"),
    ("white", _GREY, "dotted: given up"),
    ("white", _GOLD, "<b>gold: path to the best</b>"),
)
