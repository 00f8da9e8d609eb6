"""A score for every chunk: how well it answers a question.

A word counts by its rarity (inverse document frequency) and by where it stands: among the names
that a chunk defines, in what is said of it (path, scope, comment), or in its code; long chunks
count less. What covers more of the question counts more, and what stands in front by its path.
Entry points of concepts that the question names, or with which it shares words, are lifted. The
weights were set on the questions of `experiments.benchmarks.evidence.cutlass_retrieval` that are
not held back.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cutlass_search.index.concepts import Concept, Entry
from cutlass_search.index.standing import factors
from cutlass_search.index.store import Index
from cutlass_search.index.words import Group, stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

IN_ABOUT = 0.8
JOINED = 0.6
"""What two words written as one count, beside their own."""
COVERAGE = 0.4
"""Exponent of the share of the question that a chunk covers."""
CONCEPT = 2.0
MOST_CONCEPTS = 3
"""What the rarity of a phrase counts that names a concept, and how many are named at most."""
LIKELY, SHARE = 3.0, 0.7
"""What the rarity of words counts that a concept shares, and the exponent of their share."""
POSITION = 0.2
"""How much less each further entry of a concept is lifted."""
COMMON = 1 / 8
"""Words in more than this share of the chunks are looked for in names and comments alone."""


def scores(
    index: Index, question: str, wanted: Sequence[Group], *, curated: bool = True
) -> NDArray[np.float64]:
    """One score per chunk, 0 where nothing matches. curated: use the map of concepts."""
    import numpy as np

    total = len(index.vectors["file"])
    found, covered = np.zeros(total), np.zeros(total)
    every, rarity = 0.0, {}
    for group, terms, common in _known(index, wanted):
        rows, worth = _matches(index, terms, common=common)
        if not len(rows):
            continue
        idf = math.log(1 + total / (1 + len(rows)))
        if group.joined:
            found[rows] += JOINED * idf * worth
            continue
        every += idf
        rarity[stem(group.word)] = idf
        found[rows] += idf * worth
        covered[rows] += idf
    found *= (covered / every) ** COVERAGE if every else 1.0
    factor = np.array(factors(question, wanted, index.standings))
    found *= factor[index.vectors["standing"]]
    if curated:
        _lift(index, question, wanted, rarity, found)
    return found


def _known(index: Index, wanted: Sequence[Group]) -> list[tuple[Group, tuple[str, ...], bool]]:
    """Groups of which the tree knows a term, those terms, and whether they are common."""
    stems = [
        tuple(dict.fromkeys(stem(term) for term in (group.word, *group.same))) for group in wanted
    ]
    counts = index.counts({term for terms in stems for term in terms})
    most = COMMON * len(index.vectors["file"])
    found = []
    for group, terms in zip(wanted, stems, strict=True):
        present = tuple(term for term in terms if term in counts)
        if present:
            common = max(counts[term] for term in present) > most
            found.append((group, present, common))
    return found


def _matches(
    index: Index, terms: Iterable[str], *, common: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Chunks that hold one of `terms`, and what that is worth in each."""
    import numpy as np

    worth = np.zeros(len(index.vectors["file"]))
    if not common:
        code = index.rows(terms, column="code")
        worth[code] = index.vectors["in_code"][code]
    about = index.rows(terms, column="about")
    worth[about] = np.maximum(worth[about], IN_ABOUT)
    names = index.rows(terms, column="names")
    worth[names] += index.vectors["in_names"][names]
    rows = np.flatnonzero(worth > 0)
    return rows, worth[rows]


def _lift(
    index: Index,
    question: str,
    wanted: Sequence[Group],
    rarity: dict[str, float],
    found: NDArray[np.float64],
) -> None:
    usual = sum(rarity.values()) / len(rarity) if rarity else 0.0
    lifts: dict[int, float] = {}
    for concept, phrase in index.concepts.named(question)[:MOST_CONCEPTS]:
        worth = CONCEPT * sum(rarity.get(word, usual) for word in phrase)
        _add(index, concept, worth, lifts)
    for concept, worth, share in index.concepts.likely(wanted):
        _add(index, concept, LIKELY * worth * share**SHARE, lifts)
    for at, worth in lifts.items():
        found[at] += worth


def _add(index: Index, concept: Concept, worth: float, lifts: dict[int, float]) -> None:
    for position, entry in enumerate(concept.entries):
        at = _chunk_of(index, entry)
        if at is not None:
            lifts[at] = max(lifts.get(at, 0.0), worth / (1 + POSITION * position))


def _chunk_of(index: Index, entry: Entry) -> int | None:
    """The smallest chunk that holds a definition, a class before its constructors; None where this
    version has none."""
    place = (entry.path, entry.symbol)
    if place in index.places:
        return index.places[place]
    row = index.connection.execute(
        """SELECT c.id FROM file f
           JOIN symbol s INDEXED BY symbol_name ON s.file = f.id AND s.name = ? COLLATE NOCASE
           JOIN chunk c ON c.file = f.id AND s.line BETWEEN c.line AND c.last
           WHERE f.path = ? AND s.body AND c.kind <> 'file'
           ORDER BY s.qualified LIKE '%' || s.name || '::' || s.name, c.last - c.line, c.id
           LIMIT 1""",
        (entry.symbol, entry.path),
    ).fetchone()
    at = index.places[place] = None if row is None else int(row[0]) - 1
    return at
