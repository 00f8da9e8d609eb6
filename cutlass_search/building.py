"""Writing an index: files are cut, and one SQLite file is filled.

The file appears under its name only when it is whole, so that a killed build leaves nothing that
could be taken for an index, and two builds at once do not meet.
"""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
import tempfile
from array import array
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from cutlass_search.chunks import CHUNK_KINDS, Cut
from cutlass_search.corpus import Corpus, SourceFile, fingerprint
from cutlass_search.cutting import cut_all
from cutlass_search.generations import architectures, bits, is_cutlass_2
from mcts.errors import WorldError

_MAKERS = ("building", "chunks", "generations", "heads", "structure", "words")
"""The modules of which an index is made."""
VECTORS = {
    "file": "i", "kind": "i", "architectures": "i", "old": "i", "in_names": "f", "in_code": "f"
}  # fmt: skip
"""One number per chunk each, by C type: the file, the kind, the architectures and generation of the
file, and what a word counts in the names and in the code of the chunk."""
IN_NAMES = 3.0
IN_CODE = 1.0
_TYPICAL_CODE = 40
_SCHEMA = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE fact (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE vector (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL, lines INTEGER NOT NULL) STRICT;
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
    line INTEGER NOT NULL, last INTEGER NOT NULL, title TEXT NOT NULL, note TEXT NOT NULL
) STRICT;
CREATE TABLE symbol (
    name TEXT NOT NULL, qualified TEXT NOT NULL, kind TEXT NOT NULL, file INTEGER NOT NULL,
    line INTEGER NOT NULL, last INTEGER NOT NULL, body INTEGER NOT NULL,
    special INTEGER NOT NULL, title TEXT NOT NULL, note TEXT NOT NULL
) STRICT;
CREATE VIRTUAL TABLE words USING fts5 (
    names, about, code, content = '', tokenize = "ascii tokenchars '_'"
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);
CREATE TABLE term (term TEXT PRIMARY KEY, chunks INTEGER NOT NULL) STRICT, WITHOUT ROWID;
"""


@cache
def index_format() -> str:
    """A hash over the code that makes an index: other code, and the index is made anew."""
    folder = files("cutlass_search")
    made = hashlib.sha256()
    for name in _MAKERS:
        made.update((folder / f"{name}.py").read_bytes())
    return made.hexdigest()


def build(corpus: Corpus, sources: tuple[SourceFile, ...], target: Path) -> None:
    """Index `sources` of `corpus` into `target`. WorldError where that cannot be written."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".building-", suffix=".sqlite")
    os.close(handle)
    fresh = Path(name)
    try:
        with closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
            connection.executescript(_SCHEMA)
            connection.execute("BEGIN")
            _fill(connection, corpus, sources)
            connection.execute("COMMIT")
        fresh.replace(target)
    except sqlite3.Error as error:
        if "no such module: fts5" in str(error):
            raise WorldError("this Python's SQLite has no FTS5: use another Python") from None
        raise WorldError(f"the index {target} cannot be written: {error}") from None
    finally:
        fresh.unlink(missing_ok=True)


def _fill(connection: sqlite3.Connection, corpus: Corpus, sources: tuple[SourceFile, ...]) -> None:
    chunk_id = 0
    vectors = {key: array(kind) for key, kind in VECTORS.items()}
    numbers = {one.path: number for number, one in enumerate(sources, start=1)}
    for one in cut_all(corpus.root, sources):
        number = numbers[one.path]
        connection.execute("INSERT INTO file VALUES (?, ?, ?)", (number, one.path, one.lines))
        rows = list(enumerate(one.chunks, start=chunk_id + 1))
        chunk_id += len(rows)
        connection.executemany(
            "INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(at, number, *chunk[:6]) for at, chunk in rows],
        )
        connection.executemany(
            "INSERT INTO words (rowid, names, about, code) VALUES (?, ?, ?, ?)",
            [(at, *chunk[6:]) for at, chunk in rows],
        )
        _measure(vectors, number, one)
        connection.executemany(
            "INSERT INTO symbol VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(*symbol[:3], number, *symbol[3:]) for symbol in one.symbols],
        )
    connection.execute("INSERT INTO term SELECT term, doc FROM vocabulary")
    connection.execute("CREATE INDEX symbol_name ON symbol (name COLLATE NOCASE)")
    connection.execute("CREATE INDEX chunk_file ON chunk (file, line)")
    connection.execute("CREATE UNIQUE INDEX file_path ON file (path)")
    facts = {
        "format": index_format(),
        "fingerprint": fingerprint(sources),
        "root": str(corpus.root),
        "version": corpus.version,
        "licence": corpus.licence,
        "chunks": str(chunk_id),
    }
    connection.executemany("INSERT INTO fact VALUES (?, ?)", facts.items())
    connection.executemany(
        "INSERT INTO vector VALUES (?, ?)",
        [(key, values.tobytes()) for key, values in vectors.items()],
    )


def _measure(vectors: Mapping[str, array[Any]], number: int, one: Cut) -> None:
    """One entry per chunk of `one`, file `number`. Long chunks hold any word more easily."""
    own = bits(architectures(one.path))
    old = int(is_cutlass_2(one.path))
    for chunk in one.chunks:
        names, code = chunk.names.count(" ") + 1, chunk.code.count(" ") + 1
        vectors["file"].append(number)
        vectors["kind"].append(CHUNK_KINDS.index(chunk.kind))
        vectors["architectures"].append(own)
        vectors["old"].append(old)
        vectors["in_names"].append(IN_NAMES / (1 + 0.3 * math.log2(1 + names)))
        vectors["in_code"].append(IN_CODE / (1 + 0.7 * math.log2(1 + code / _TYPICAL_CODE)))
