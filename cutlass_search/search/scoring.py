"""A score for every chunk: how well it answers a question.

A word counts by its rarity (inverse document frequency) and by where it occurs: in the names that a
chunk defines, in text about it (path, scope, comment), or in its code; it counts less in a long
chunk. A chunk scores higher the more of the question it covers, and by its path (`path_factors`).
Entry points of concepts that the question names, or with which it shares words, are boosted. The
weights were tuned on the questions of `experiments.benchmarks.evidence.cutlass_retrieval` that are
not held back.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cutlass_search.index.concepts import Concept, Entry
from cutlass_search.index.path_factors import path_factors
from cutlass_search.index.store import Index
from cutlass_search.index.tokens import QueryTerm, stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

IN_ABOUT = 0.8
JOINED = 0.6
"""Weight of two words written as one, in addition to their own."""
COVERAGE_EXPONENT = 0.4
"""Exponent of the share of the question that a chunk covers."""
NAMED_CONCEPT = 2.0
MOST_CONCEPTS = 3
"""Weight of the rarity of a phrase that names a concept, and how many such concepts count."""
LIKELY_CONCEPT, SHARE_EXPONENT = 3.0, 0.7
"""Weight of the rarity of the words that a concept shares, and exponent of their share."""
POSITION_DISCOUNT = 0.2
"""How much less each further entry of a concept is boosted."""
COMMON = 1 / 8
"""Words in more than this share of the chunks are looked up in names and comments only."""


def scores(
    index: Index, question: str, wanted: Sequence[QueryTerm], *, curated: bool = True
) -> NDArray[np.float64]:
    """One score per chunk, 0 if nothing matches. curated: use the map of concepts."""
    import numpy as np

    total = len(index.vectors["file"])
    found, covered = np.zeros(total), np.zeros(total)
    total_idf, rarity = 0.0, {}
    for term, present, common in _known_terms(index, wanted):
        rows, worth = _matches(index, present, common=common)
        if not len(rows):
            continue
        idf = math.log(1 + total / (1 + len(rows)))
        if term.joined:
            found[rows] += JOINED * idf * worth
            continue
        total_idf += idf
        rarity[stem(term.word)] = idf
        found[rows] += idf * worth
        covered[rows] += idf
    found *= (covered / total_idf) ** COVERAGE_EXPONENT if total_idf else 1.0
    factor = np.array(path_factors(question, wanted, index.path_traits))
    found *= factor[index.vectors["path_traits"]]
    if curated:
        _boost_concepts(index, question, wanted, rarity, found)
    return found


def _known_terms(
    index: Index, wanted: Sequence[QueryTerm]
) -> list[tuple[QueryTerm, tuple[str, ...], bool]]:
    """The query terms that occur in the tree, each with its stems that do, and whether they
    are common."""
    stems = [tuple(dict.fromkeys(map(stem, (term.word, *term.synonyms)))) for term in wanted]
    counts = index.counts({one for own in stems for one in own})
    most = COMMON * len(index.vectors["file"])
    found = []
    for term, own in zip(wanted, stems, strict=True):
        present = tuple(one for one in own if one in counts)
        if present:
            common = max(counts[one] for one in present) > most
            found.append((term, present, common))
    return found


def _matches(
    index: Index, terms: Iterable[str], *, common: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The chunks that hold one of `terms`, and the weight of that in each."""
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


def _boost_concepts(
    index: Index,
    question: str,
    wanted: Sequence[QueryTerm],
    rarity: dict[str, float],
    found: NDArray[np.float64],
) -> None:
    usual = sum(rarity.values()) / len(rarity) if rarity else 0.0
    boosts: dict[int, float] = {}
    for concept, phrase in index.concepts.mentioned(question)[:MOST_CONCEPTS]:
        worth = NAMED_CONCEPT * sum(rarity.get(word, usual) for word in phrase)
        _add_boosts(index, concept, worth, boosts)
    for concept, worth, share in index.concepts.likely(wanted):
        _add_boosts(index, concept, LIKELY_CONCEPT * worth * share**SHARE_EXPONENT, boosts)
    for at, worth in boosts.items():
        found[at] += worth


def _add_boosts(index: Index, concept: Concept, worth: float, boosts: dict[int, float]) -> None:
    for position, entry in enumerate(concept.entries):
        at = _chunk_of(index, entry)
        if at is not None:
            boosts[at] = max(boosts.get(at, 0.0), worth / (1 + POSITION_DISCOUNT * position))


def _chunk_of(index: Index, entry: Entry) -> int | None:
    """The smallest chunk that holds a definition, a class before its constructors; None if this
    version has none."""
    key = (entry.path, entry.symbol)
    if key in index.entry_chunks:
        return index.entry_chunks[key]
    row = index.connection.execute(
        """SELECT c.id FROM file f
           JOIN symbol s INDEXED BY symbol_name ON s.file = f.id AND s.name = ? COLLATE NOCASE
           JOIN chunk c ON c.file = f.id AND s.line BETWEEN c.line AND c.last
           WHERE f.path = ? AND s.body AND c.kind <> 'file'
           ORDER BY s.qualified LIKE '%' || s.name || '::' || s.name, c.last - c.line, c.id
           LIMIT 1""",
        (entry.symbol, entry.path),
    ).fetchone()
    at = index.entry_chunks[key] = None if row is None else int(row[0]) - 1
    return at
