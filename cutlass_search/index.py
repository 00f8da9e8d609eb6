"""The index of a tree: one SQLite file per version and place, built when it is missing or stale."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from cutlass_search.building import VECTORS, build, index_format
from cutlass_search.corpus import Corpus, fingerprint
from mcts.errors import WorldError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_KEPT = 500
"""Posting lists, of a few kilobytes each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """An open index over `corpus`, kept at `path`; `built` says whether it was made just now.

    vectors: one number per chunk each, chunk 1 first (see `building.VECTORS`).
    """

    corpus: Corpus
    path: Path
    connection: sqlite3.Connection
    built: bool
    vectors: Mapping[str, NDArray[Any]]
    _kept: dict[tuple[str, ...], NDArray[np.int64]] = field(default_factory=dict, repr=False)

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

    def rows(self, terms: Iterable[str], *, column: str) -> NDArray[np.int64]:
        """Chunks, from 0, that hold one of `terms` in `column`.

        They come as one text, which takes a fraction of the time that as many rows would. Lists
        are kept, since the questions of a session share their words.
        """
        import numpy as np

        key = (column, *terms)
        kept = self._kept.get(key)
        if kept is None:
            match = f"{column} : ({' OR '.join(_quoted(term) for term in key[1:])})"
            (text,) = self.connection.execute(
                "SELECT group_concat(rowid) FROM words WHERE words MATCH ?", (match,)
            ).fetchone()
            kept = np.fromstring(text or "", dtype=np.int64, sep=",") - 1
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = kept
        return kept

    def count(self, table: str) -> int:
        """Rows of `table`: file, chunk or symbol."""
        (number,) = self.connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
        return int(number)


def _quoted(term: str) -> str:
    """`term` as a word of FTS5, never as one of its operators."""
    return '"' + term.replace('"', '""') + '"'


def open_index(corpus: Corpus, *, folder: Path, rebuild: bool = False) -> Index:
    """The index of `corpus` under `folder`, made where it is missing, stale or damaged.

    Stale is what was made from other files (by name, size and time), another version, or in
    another format. WorldError where `folder` cannot be written.
    """
    files = corpus.files()
    path = folder / _name(corpus)
    wanted = fingerprint(files)
    if not rebuild and (connection := _usable(path, wanted)):
        return _index(corpus, path, connection, built=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        build(corpus, files, path)
    except OSError as error:
        raise WorldError(f"the index {path} cannot be written: {error.strerror}") from None
    return _index(corpus, path, _open(path), built=True)


def _index(corpus: Corpus, path: Path, connection: sqlite3.Connection, *, built: bool) -> Index:
    import numpy as np

    vectors = {
        str(key): np.frombuffer(value, dtype=VECTORS[key])
        for key, value in connection.execute("SELECT key, value FROM vector")
    }
    return Index(corpus=corpus, path=path, connection=connection, built=built, vectors=vectors)


def _name(corpus: Corpus) -> str:
    place = hashlib.sha256(str(corpus.root).encode()).hexdigest()[:12]
    return f"cutlass-{corpus.version}-{place}.sqlite"


def _open(path: Path) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    return sqlite3.connect(uri, uri=True, check_same_thread=False)


def _usable(path: Path, wanted: str) -> sqlite3.Connection | None:
    """The index at `path` if it is whole and not stale."""
    if not path.is_file():
        return None
    connection = _open(path)
    try:
        facts = dict(connection.execute("SELECT key, value FROM fact"))
        connection.execute("SELECT rowid FROM words WHERE words MATCH 'a'").fetchone()
    except sqlite3.DatabaseError:
        facts = {}
    if facts.get("format") == index_format() and facts.get("fingerprint") == wanted:
        return connection
    connection.close()
    return None
