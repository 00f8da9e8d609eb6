"""The index of a tree: one SQLite file per version and root, built if it is missing or stale."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from cutlass_search.index.building import VECTORS, build, index_format, matching_chunks
from cutlass_search.index.concepts import ConceptMap, load_map
from cutlass_search.index.corpus import Corpus, fingerprint
from cutlass_search.index.path_factors import PathTraits
from cutlass_search.index.tokens import query_terms
from mcts.errors import WorldError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_CACHED = 500
"""Posting lists in the cache, of a few kilobytes each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """An open index over `corpus`, kept at `path`; `built` says whether it was built just now.

    vectors: one number per chunk each, chunk 1 first (see `building.VECTORS`); posting_lists: the
    chunks of frequent words, by column and word; path_traits: the traits that the vector of that
    name refers to; entry_chunks: the chunk of a path and symbol, None if there is none, once looked
    up.
    """

    corpus: Corpus
    path: Path
    connection: sqlite3.Connection
    built: bool
    vectors: Mapping[str, NDArray[Any]]
    posting_lists: Mapping[tuple[str, str], NDArray[np.int32]]
    path_traits: tuple[PathTraits, ...]
    concepts: ConceptMap
    entry_chunks: dict[tuple[str, str], int | None] = field(default_factory=dict, repr=False)
    _cache: dict[tuple[str, ...], NDArray[np.int32]] = field(default_factory=dict, repr=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def fact(self, key: str) -> str:
        """A fact that was recorded when the index was built: version, licence, root, ..."""
        (value,) = self.connection.execute(
            "SELECT value FROM fact WHERE key = ?", (key,)
        ).fetchone()
        return str(value)

    def counts(self, terms: Iterable[str]) -> dict[str, int]:
        """The number of chunks that hold each of `terms`; terms that occur nowhere are left out."""
        wanted = sorted(terms)
        marks = ", ".join("?" * len(wanted))
        return dict(
            self.connection.execute(
                f"SELECT term, chunks FROM term WHERE term IN ({marks})", wanted
            )
        )

    def rows(self, terms: Iterable[str], *, column: str) -> NDArray[np.int32]:
        """The chunks, counted from 0, that hold one of `terms` in `column`, ascending and unique.

        Cached, since the questions of a session share their words.
        """
        import numpy as np

        key = (column, *terms)
        found = self._cache.get(key)
        if found is None:
            stored = self.posting_lists
            lists = [stored[column, term] for term in key[1:] if (column, term) in stored]
            if rare := [term for term in key[1:] if (column, term) not in stored]:
                packed = matching_chunks(self.connection, rare, column=column)
                lists.append(np.frombuffer(packed, dtype=np.int32))
            found = lists[0]
            if len(lists) > 1:
                # `np.unique` imports half of numpy at the first question.
                merged = np.sort(np.concatenate(lists))
                found = (
                    merged[np.append(True, merged[1:] != merged[:-1])] if len(merged) else merged
                )
            if len(self._cache) >= _MOST_CACHED:
                self.clear_cache()
            self._cache[key] = found
        return found

    def clear_cache(self) -> None:
        """Empty the cache of posting lists."""
        self._cache.clear()

    def count(self, table: str) -> int:
        """The number of rows of `table`: file, chunk or symbol."""
        (number,) = self.connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
        return int(number)


def open_index(corpus: Corpus, *, folder: Path, rebuild: bool = False) -> Index:
    """Open the index of `corpus` under `folder`; build it if it is missing, stale or damaged.

    An index is stale if it was built from other files (by name, size and time), from another
    version, or in another format. If only files changed, rows about the others are copied, unless
    `rebuild`. WorldError if `folder` cannot be written.
    """
    query_terms("now")  # Stems the synonyms now, so that the first question takes no longer.
    files = corpus.files()
    path = folder / _name(corpus)
    kept = None if rebuild else _existing(corpus, path)
    if kept is not None and kept.fact("fingerprint") == fingerprint(files):
        return kept
    if kept is not None:
        kept.connection.close()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        build(corpus, files, path, older=None if kept is None else path)
    except OSError as error:
        raise WorldError(f"the index {path} cannot be written: {error.strerror}") from None
    return _loaded(corpus, path, _open(path), built=True)


def _existing(corpus: Corpus, path: Path) -> Index | None:
    """The index at `path`, or None if it is missing, damaged or in another format."""
    if not path.is_file():
        return None
    connection = _open(path)
    try:
        index = _loaded(corpus, path, connection, built=False)
        if index.fact("format") == index_format():
            return index
    except (sqlite3.DatabaseError, TypeError, ValueError):
        pass  # Damaged, or written by another version: it is rebuilt.
    connection.close()
    return None


def _loaded(corpus: Corpus, path: Path, connection: sqlite3.Connection, *, built: bool) -> Index:
    import numpy as np

    vectors = {
        key: np.frombuffer(value, dtype=VECTORS[key])
        for key, value in connection.execute("SELECT key, value FROM vector")
        if key in VECTORS
    }
    posting_lists = {
        (str(column), str(term)): np.frombuffer(found, dtype=np.int32)
        for column, term, found in connection.execute("SELECT field, term, list FROM posting_lists")
    }
    path_traits = tuple(
        PathTraits(architectures, bool(cutlass_2), area, variants)
        for architectures, cutlass_2, area, variants in connection.execute(
            "SELECT architectures, cutlass_2, area, variants FROM path_traits ORDER BY rowid"
        )
    )
    (concepts,) = connection.execute("SELECT value FROM fact WHERE key = 'concepts'").fetchone()
    return Index(
        corpus=corpus, path=path, connection=connection, built=built, vectors=vectors,
        posting_lists=posting_lists, path_traits=path_traits, concepts=load_map(concepts),
    )  # fmt: skip


def _name(corpus: Corpus) -> str:
    place = hashlib.sha256(str(corpus.root).encode()).hexdigest()[:12]
    return f"cutlass-{corpus.version}-{place}.sqlite"


def _open(path: Path) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    return sqlite3.connect(uri, uri=True, check_same_thread=False)
