"""The growing tree in a few rows, with the best, what came last and what is under way.

Nodes that are left out do not break the picture: a row stands below its nearest ancestor that is
shown, with a dotted branch where others lie between.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from experiments.live.board import Board
from experiments.live.flights import Flight
from experiments.text.nodes import fit

_STATUS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line: the branches drawn before it, what it is, and words about it.

    style: best, path, measured, failed, duplicate, new (settled last) or flight.
    """

    branches: str
    style: str
    head: str
    words: str


def rows(board: Board, most: int, *, line: int = 4, over: bool = False) -> list[Row]:
    """At most `most` rows; none before the baseline is measured.

    `line` nodes of the best path are shown first of all: the deeper, the further to the right.
    Nothing is under way any more in a run that is `over`.
    """
    best = board.best
    if best is None or most < 1:
        return []
    path = board.path_to(best)
    flights = [] if over else board.flights
    flying = [flight for flight in flights if flight.parent in board.spots][: most // 4]
    wanted = _wanted(board, path, line, [flight.parent or 0 for flight in flying])
    return _Excerpt(board, path, set(_first(wanted, most - len(flying))), flying).rows()


def _wanted(board: Board, path: list[int], line: int, worked_on: list[int]) -> Iterator[int]:
    """Ids by how much they are worth a row; the root comes first."""
    newest = sorted(board.spots, reverse=True)
    yield 0
    yield path[-1]
    yield from newest[:3]
    yield from reversed(path[-line:])
    yield from worked_on
    yield from newest[:6]
    yield from reversed(path[-3 * line :])
    yield from newest


def _first(ids: Iterable[int], most: int) -> Iterator[int]:
    """The first `most` distinct ones."""
    seen: set[int] = set()
    for id in ids:
        if len(seen) == max(1, most):
            return
        if id not in seen:
            seen.add(id)
            yield id


class _Excerpt:
    """The chosen nodes, each below its nearest chosen ancestor, and the trials below those."""

    def __init__(
        self, board: Board, path: list[int], chosen: set[int], flying: list[Flight]
    ) -> None:
        self._board, self._path, self._chosen = board, path, chosen
        self._latest = max(board.spots)
        self._children: dict[int, list[int]] = defaultdict(list)
        self._flights: dict[int, list[Flight]] = defaultdict(list)
        for id in sorted(chosen - {0}):
            self._children[self._foot(board.spots[id].parent)].append(id)
        for flight in flying:
            self._flights[self._foot(flight.parent)].append(flight)

    def _foot(self, id: int | None) -> int:
        """`id`, or its nearest ancestor that was chosen."""
        while id is not None and id not in self._chosen:
            id = self._board.spots[id].parent
        return id or 0

    def rows(self) -> list[Row]:
        root = Row(branches="", style="path", head="baseline", words="")
        return [root, *self._below(0, "")]

    def _below(self, id: int, prefix: str) -> Iterator[Row]:
        """The rows of all that is shown below a node, depth first, oldest first."""
        children, flights = self._children[id], self._flights[id]
        left = len(children) + len(flights)
        for child in children:
            left -= 1
            corner = "├" if left else "└"
            joint = "╴" if self._board.spots[child].parent == id else "┄"
            yield replace(self._row(child), branches=f"{prefix}{corner}{joint}")
            yield from self._below(child, prefix + ("│ " if left else "  "))
        for flight in flights:
            left -= 1
            corner = "├╴" if left else "└╴"
            head = f"#{flight.trial}"
            yield Row(branches=prefix + corner, style="flight", head=head, words=flight.doing)

    def _row(self, id: int) -> Row:
        spot, verdict = self._board.spots[id], self._board.verdict(id)
        words = f"#{id} {', '.join(self._board.moves(id))}".rstrip()
        best = id == self._path[-1]
        if spot.twin is not None and not best:
            words = f"#{id} same as #{spot.twin}"
            return Row(branches="", style="duplicate", head="=", words=words)
        if verdict is None or verdict.speedup is None:
            status = verdict.status if verdict is not None else spot.status
            head = fit(status.replace("_", " "), _STATUS)
            return Row(branches="", style="failed", head=head, words=words)
        style = "new" if id == self._latest else "measured"
        if id in self._path:
            style = "best" if best else "path"
        head = f"{'★ ' if best else ''}{verdict.speedup:.2f}x"
        return Row(branches="", style=style, head=head, words=words)
