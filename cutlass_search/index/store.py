"""The index of a tree: one SQLite file per version and place, built when it is missing or stale."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from cutlass_search.index.building import VECTORS, build, index_format, matching
from cutlass_search.index.concepts import ConceptMap, load_map
from cutlass_search.index.corpus import Corpus, fingerprint
from cutlass_search.index.standing import Standing
from cutlass_search.index.words import groups
from mcts.errors import WorldError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_KEPT = 500
"""Posting lists, of a few kilobytes each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """An open index over `corpus`, kept at `path`; `built` says whether it was made just now.

    vectors: one number per chunk each, chunk 1 first (see `building.VECTORS`); ready: the chunks of
    frequent words, by column and word; standings: what files are, by the number in the vector of
    that name; concepts: the map of them; places: the chunk of a path and symbol, once looked up.
    """

    corpus: Corpus
    path: Path
    connection: sqlite3.Connection
    built: bool
    vectors: Mapping[str, NDArray[Any]]
    ready: Mapping[tuple[str, str], NDArray[np.int32]]
    standings: tuple[Standing, ...]
    concepts: ConceptMap
    places: dict[tuple[str, str], int | None] = field(default_factory=dict, repr=False)
    _kept: dict[tuple[str, ...], NDArray[np.int32]] = field(default_factory=dict, repr=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def fact(self, key: str) -> str:
        """What was recorded when it was built: version, licence, root, chunks, ..."""
        (value,) = self.connection.execute(
            "SELECT value FROM fact WHERE key = ?", (key,)
        ).fetchone()
        return str(value)

    def counts(self, terms: Iterable[str]) -> dict[str, int]:
        """In how many chunks each of `terms` stands; those that stand nowhere are left out."""
        wanted = sorted(terms)
        marks = ", ".join("?" * len(wanted))
        return dict(
            self.connection.execute(
                f"SELECT term, chunks FROM term WHERE term IN ({marks})", wanted
            )
        )

    def rows(self, terms: Iterable[str], *, column: str) -> NDArray[np.int32]:
        """Chunks, from 0, that hold one of `terms` in `column`, each once.

        Lists are kept, since the questions of a session share their words.
        """
        import numpy as np

        key = (column, *terms)
        kept = self._kept.get(key)
        if kept is None:
            lists = [self.ready[column, term] for term in key[1:] if (column, term) in self.ready]
            if rare := [term for term in key[1:] if (column, term) not in self.ready]:
                found = matching(self.connection, rare, column=column)
                lists.append(np.frombuffer(found, dtype=np.int32))
            kept = lists[0]
            if len(lists) > 1:
                # `np.unique` would import half of numpy at the first question.
                merged = np.sort(np.concatenate(lists))
                kept = merged[np.append(True, merged[1:] != merged[:-1])] if len(merged) else merged
            if len(self._kept) >= _MOST_KEPT:
                self.forget()
            self._kept[key] = kept
        return kept

    def forget(self) -> None:
        """Let go of the lists that are kept."""
        self._kept.clear()

    def count(self, table: str) -> int:
        """Rows of `table`: file, chunk or symbol."""
        (number,) = self.connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
        return int(number)


def open_index(corpus: Corpus, *, folder: Path, rebuild: bool = False) -> Index:
    """The index of `corpus` under `folder`, made where it is missing, stale or damaged.

    Stale is what was made from other files (by name, size and time), another version, or in
    another format. Where only files changed, what did not change is taken over; rebuild: not even
    that. WorldError where `folder` cannot be written.
    """
    groups("now")  # Reads the table of like words: the first question should take no longer.
    files = corpus.files()
    path = folder / _name(corpus)
    kept = None if rebuild else _kept(corpus, path)
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


def _kept(corpus: Corpus, path: Path) -> Index | None:
    """The index at `path`, if it is whole and in this format."""
    if not path.is_file():
        return None
    connection = _open(path)
    try:
        index = _loaded(corpus, path, connection, built=False)
        if index.fact("format") == index_format():
            return index
    except (sqlite3.DatabaseError, TypeError, ValueError):
        pass  # Damaged, or made by another version: it is made anew.
    connection.close()
    return None


def _loaded(corpus: Corpus, path: Path, connection: sqlite3.Connection, *, built: bool) -> Index:
    import numpy as np

    vectors = {
        key: np.frombuffer(value, dtype=VECTORS[key])
        for key, value in connection.execute("SELECT key, value FROM vector")
        if key in VECTORS
    }
    ready = {
        (str(column), str(term)): np.frombuffer(found, dtype=np.int32)
        for column, term, found in connection.execute("SELECT field, term, list FROM ready")
    }
    standings = tuple(
        Standing(architectures, bool(old), place, variants)
        for architectures, old, place, variants in connection.execute(
            "SELECT architectures, old, place, variants FROM standing ORDER BY rowid"
        )
    )
    (concepts,) = connection.execute("SELECT value FROM fact WHERE key = 'concepts'").fetchone()
    return Index(
        corpus=corpus, path=path, connection=connection, built=built, vectors=vectors, ready=ready,
        standings=standings, concepts=load_map(concepts),
    )  # fmt: skip


def _name(corpus: Corpus) -> str:
    place = hashlib.sha256(str(corpus.root).encode()).hexdigest()[:12]
    return f"cutlass-{corpus.version}-{place}.sqlite"


def _open(path: Path) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    return sqlite3.connect(uri, uri=True, check_same_thread=False)
