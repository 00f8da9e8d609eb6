"""What stands in a box of the tree's picture, as Graphviz's HTML-like labels."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.text.nodes import WORD, failure_words, fit, move_words, packed
from experiments.text.words import counted
from experiments.views.tree.folding import Stub

if TYPE_CHECKING:
    from mcts.journal.record import NodeRecord

_METHODS = 2
_SMALL, _TINY = 9, 8


def text(words: str) -> str:
    """`words` as text of a label: nothing in it is markup."""
    return html.escape(words)


def of_node(
    node: NodeRecord, *, parent: NodeRecord | None, twin: NodeRecord | None, best: int
) -> str:
    """Speedup or status, methods, what was changed, visits; of a duplicate what it repeats."""
    moves = packed(move_words(parent.candidate if parent else None, node.candidate))
    if node.kind == "duplicate":
        again = speedup_of(twin) if twin else None
        known = f" ({again:.2f}×)" if again is not None else ""
        same = f"same as #{node.duplicate_of}{known}"
        return _lines([_font(line, _TINY) for line in (*moves, same)])
    return _lines(
        [
            f"<b>{text(_headline(node, best))}</b>",
            *(_font(word, _SMALL, italic=True) for word in _methods(node)),
            *(_font(word, _SMALL) for word in moves),
            *(_font(word, _SMALL) for word in (*_seen_before(node), *_branching(node))),
            _font(f"#{node.id}, {counted(node.visits, 'visit')}", _TINY),
        ]
    )


def of_stub(stub: Stub) -> str:
    """How much is folded away, and what it came to."""
    best = f"best {stub.best:.2f}×" if stub.best is not None else "no result"
    failed = f", {stub.failed:,} failed" if stub.failed else ""
    return _lines([_font(f"+ {counted(stub.nodes, 'node')}", _SMALL), _font(best + failed, _TINY)])


def speedup_of(node: NodeRecord) -> float | None:
    """The speedup that counts: the confirmed one where there is one."""
    return node.verdict.speedup if node.verdict else None


def _headline(node: NodeRecord, best: int) -> str:
    if node.parent is None:
        return "baseline" if node.id != best else "baseline, still the best"
    if node.kind == "rejected":
        return "no candidate"
    speedup = speedup_of(node)
    if speedup is None:
        return failure_words(node.verdict)
    return f"{'best ' if node.id == best else ''}{speedup:.2f}×"


def _methods(node: NodeRecord) -> list[str]:
    """The methods that the candidate claims, without their axis."""
    if node.parent is None or node.candidate is None:
        return []
    names = [fit(name.partition(".")[2] or name, WORD) for name in node.candidate.methods]
    if len(names) > _METHODS:
        names = [*names[: _METHODS - 1], f"{len(names) - _METHODS + 1} more"]
    return packed([name.replace("_", " ") for name in names])


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


def _font(words: str, size: int, *, italic: bool = False) -> str:
    body = f"<i>{text(words)}</i>" if italic else text(words)
    return f'<font point-size="{size}">{body}</font>'


def _lines(lines: Sequence[str]) -> str:
    return f"<{'<br/>'.join(lines)}>"
