"""Ranked search: from a question in words or identifiers to places in the tree, one per file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from cutlass_search.index.chunks import CHUNK_KINDS
from cutlass_search.index.store import Index
from cutlass_search.index.tokens import QueryTerm, query_terms
from cutlass_search.search.scoring import scores
from mcts.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LONGEST_QUERY = 400
MOST_WORDS = 24
KINDS = (*CHUNK_KINDS, "example")
CANDIDATES = 200
"""The best chunks, from whose files the results are made."""
SECOND_CHUNK = 0.4
"""Weight of a file's second and its overview chunk, added to the score of its best one."""
_BESIDES = 2


class Place(NamedTuple):
    """Lines of a file that a search found; `title` is the head of the declaration there."""

    path: str
    line: int
    last: int
    kind: str
    name: str
    title: str
    note: str


class Hit(NamedTuple):
    """A file that answers, with its best place; `besides` are further places in it."""

    best: Place
    besides: tuple[Place, ...]
    score: float


def find(
    index: Index,
    query: str,
    *,
    kind: str | None = None,
    path: str | None = None,
    most: int = 10,
    curated: bool = True,
) -> list[Hit]:
    """The best places for `query`, best first, one hit per file.

    `query` is plain words and identifiers; nothing in it is an operator or a pattern. kind:
    one of KINDS; path: a part of the path; curated: use the map of concepts. InputError for a
    query without words, one that is too long, or an unknown kind.
    """
    import numpy as np

    if kind is not None and kind not in KINDS:
        raise InputError(f"kind {kind!r}: one of {', '.join(KINDS)}")
    found = scores(index, query, _parsed(query), curated=curated)
    allowed = _filter(index, kind, path)
    if allowed is not None:
        found = np.where(allowed, found, 0.0)
    at = np.flatnonzero(found > 0)
    if len(at) > CANDIDATES:
        at = at[np.argpartition(-found[at], CANDIDATES)[:CANDIDATES]]
    # Ties are ordered by path, so that they do not depend on how many processes built the index.
    ordered = at[np.lexsort((at, index.vectors["file"][at], -found[at]))]
    return _by_file(index, found, ordered, most)


def _parsed(query: str) -> list[QueryTerm]:
    if len(query) > LONGEST_QUERY:
        raise InputError(f"a query has at most {LONGEST_QUERY} characters, this has {len(query)}")
    found = query_terms(query)
    if not found:
        raise InputError(f"nothing to search for in {query!r}: name words or identifiers")
    return found[:MOST_WORDS]


def _filter(index: Index, kind: str | None, path: str | None) -> NDArray[np.bool_] | None:
    import numpy as np

    if kind is None and path is None:
        return None
    allowed = np.ones(len(index.vectors["file"]), dtype=bool)
    if kind is not None and kind != "example":
        allowed &= index.vectors["kind"] == CHUNK_KINDS.index(kind)
    for piece in ("examples/" if kind == "example" else None, path):
        if piece is not None:
            found = index.connection.execute(
                "SELECT id FROM file WHERE instr(lower(path), lower(?))", (piece,)
            )
            allowed &= np.isin(index.vectors["file"], [number for (number,) in found])
    return allowed


def _by_file(
    index: Index, found: NDArray[np.float64], ordered: NDArray[np.int64], most: int
) -> list[Hit]:
    numbers, kinds = index.vectors["file"][ordered].tolist(), index.vectors["kind"][ordered]
    overviews = set(ordered[kinds == CHUNK_KINDS.index("file")].tolist())
    files: dict[int, list[int]] = {}
    for number, at in zip(numbers, ordered.tolist(), strict=True):
        files.setdefault(number, []).append(at)
    worth = dict(zip(ordered.tolist(), found[ordered].tolist(), strict=True))
    ranked = []
    for own in files.values():
        further = overviews.intersection(own).union(own[1:2])
        score = worth[own[0]] + SECOND_CHUNK * sum(worth[at] for at in sorted(further))
        ranked.append((score, own))
    ranked.sort(key=lambda pair: -pair[0])
    return _hits(index, ranked[:most])


def _hits(index: Index, ranked: Sequence[tuple[float, list[int]]]) -> list[Hit]:
    shown = [(score, [at + 1 for at in own[: 1 + _BESIDES]]) for score, own in ranked]
    wanted = [number for _, numbers in shown for number in numbers]
    found = index.connection.execute(
        "SELECT c.id, f.path, c.line, c.last, c.kind, c.name, c.title, c.note "
        f"FROM chunk c JOIN file f ON f.id = c.file WHERE c.id IN ({', '.join('?' * len(wanted))})",
        wanted,
    )
    places = {row[0]: Place(*row[1:]) for row in found}
    return [
        Hit(places[numbers[0]], tuple(places[number] for number in numbers[1:]), score)
        for score, numbers in shown
    ]
