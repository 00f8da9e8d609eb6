"""Building an index: files are chunked, and one SQLite file is filled.

The file appears under its name only when it is complete, so that a killed build leaves nothing that
could be taken for an index, and two builds at once do not collide. Rows about files that did not
change are copied from an older index.
"""

from __future__ import annotations

import gc
import hashlib
import math
import os
import sqlite3
import tempfile
import time
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from cutlass_search.index.chunking_pool import chunk_all
from cutlass_search.index.chunks import CHUNK_KINDS, ChunkedFile
from cutlass_search.index.concepts import concept_map, map_texts
from cutlass_search.index.corpus import Corpus, SourceFile, fingerprint
from cutlass_search.index.path_factors import path_traits
from cutlass_search.index.schema import COLUMNS, COPY_UNCHANGED, FILL_WORDS, SCHEMA
from mcts.errors import WorldError

_FORMAT_MODULES = (
    "building", "chunks", "concepts", "declarators", "path_factors", "schema", "source_text",
    "structure", "tokens", "word_lists",
)  # fmt: skip
"""The modules on which the content of an index depends."""
VECTORS = {"file": "i", "kind": "i", "path_traits": "i", "in_names": "f", "in_code": "f"}
"""Vectors with one number per chunk, by C type: the file, the kind, the traits of the file's path,
and the weight of a word in the names and in the code of the chunk."""
IN_NAMES = 3.0
IN_CODE = 1.0
FREQUENT = 256
"""Number of chunks from which on a word's posting lists are stored."""
_TYPICAL_CODE = 40
_LEFT_BEHIND_S = 3_600
"""Age at which the file that a killed build left behind is removed."""


@cache
def index_format() -> str:
    """A hash over the code and the concept map; an index with another one is rebuilt."""
    folder = files("cutlass_search.index")
    digest = hashlib.sha256()
    for name in _FORMAT_MODULES:
        digest.update((folder / f"{name}.py").read_bytes())
    for text in map_texts():
        digest.update(text.encode())
    return digest.hexdigest()


def build(
    corpus: Corpus, sources: tuple[SourceFile, ...], target: Path, *, older: Path | None = None
) -> None:
    """Index `sources` of `corpus` into `target`. WorldError if that cannot be written.

    older: an index of this format; its files of the same size and time are not chunked again.
    """
    _remove_leftovers(target.parent)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".building-", suffix=".sqlite")
    os.close(handle)
    fresh = Path(name)
    try:
        with closing(sqlite3.connect(fresh, isolation_level=None, uri=True)) as connection:
            connection.executescript(SCHEMA)
            with _no_garbage_collection():
                _fill(connection, corpus, sources, older)
        fresh.replace(target)
    except sqlite3.Error as error:
        if older is None:
            raise WorldError(_explain(target, error)) from None
    else:
        return
    finally:
        fresh.unlink(missing_ok=True)
    build(corpus, sources, target)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Switch garbage collection off: with so many tuples it takes a tenth of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _fill(
    connection: sqlite3.Connection,
    corpus: Corpus,
    sources: tuple[SourceFile, ...],
    older: Path | None,
) -> None:
    known = _copy_unchanged(connection, sources, older) if older else frozenset()
    connection.execute("BEGIN")
    changed = [one for one in sources if one.path not in known]
    _write(connection, sources, chunk_all(corpus.root, changed))
    for statement in FILL_WORDS.strip().split(";\n"):
        connection.execute(statement)
    _write_vectors(connection, sources)
    _write_posting_lists(connection)
    facts = {
        "format": index_format(),
        "fingerprint": fingerprint(sources),
        "root": str(corpus.root),
        "version": corpus.version,
        "licence": corpus.licence,
        "taken over": str(len(known)),
        "concepts": concept_map().dump(),
    }
    connection.executemany("INSERT INTO fact VALUES (?, ?)", facts.items())
    connection.execute("COMMIT")


def _copy_unchanged(
    connection: sqlite3.Connection, sources: Sequence[SourceFile], older: Path
) -> frozenset[str]:
    """Copy from `older` the rows about unchanged `sources`; return the paths of these."""
    uri = f"file:{quote(str(older.absolute()))}?mode=ro&immutable=1"
    connection.execute("ATTACH ? AS older", (uri,))
    numbers = {one: number for number, one in enumerate(sources, start=1)}
    same = [
        (old, numbers[one], one.path)
        for old, *about in connection.execute("SELECT id, path, size, changed_ns FROM older.file")
        if (one := SourceFile(path=about[0], size=about[1], changed_ns=about[2])) in numbers
    ]
    connection.execute("CREATE TEMP TABLE same (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)")
    connection.executemany("INSERT INTO same VALUES (?, ?)", [pair[:2] for pair in same])
    connection.executescript(f"BEGIN; {COPY_UNCHANGED} COMMIT; DETACH older;")
    return frozenset(path for _, _, path in same)


def _write(
    connection: sqlite3.Connection, sources: Sequence[SourceFile], chunked: Iterable[ChunkedFile]
) -> None:
    numbers = {one.path: (number, one) for number, one in enumerate(sources, start=1)}
    for one in chunked:
        number, source = numbers[one.path]
        connection.execute(
            "INSERT INTO file VALUES (?, ?, ?, ?, ?)",
            (number, one.path, one.lines, source.size, source.changed_ns),
        )
        connection.executemany(
            "INSERT INTO chunk VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(number, *chunk) for chunk in one.chunks],
        )
        connection.executemany(
            "INSERT INTO symbol VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            # Integers, because `sqlite3` looks for an adapter for each bool.
            [
                (
                    symbol.name, symbol.qualified, symbol.kind, number, symbol.line, symbol.last,
                    int(symbol.body), int(symbol.special), symbol.title, symbol.note,
                )
                for symbol in one.symbols
            ],
        )  # fmt: skip


def _write_vectors(connection: sqlite3.Connection, sources: Sequence[SourceFile]) -> None:
    """Write the vectors. A word counts less in a long chunk, which holds any word more easily."""
    own = [path_traits(one.path) for one in sources]
    known = {one: number for number, one in enumerate(dict.fromkeys(own))}
    connection.executemany("INSERT INTO path_traits VALUES (?, ?, ?, ?)", known)
    kinds = {kind: at for at, kind in enumerate(CHUNK_KINDS)}
    rows = [
        (
            number, kinds[kind], known[own[number - 1]],
            IN_NAMES / (1 + 0.3 * math.log2(1 + named)),
            IN_CODE / (1 + 0.7 * math.log2(1 + used / _TYPICAL_CODE)),
        )
        for number, kind, named, used in connection.execute(
            "SELECT file, kind, named, used FROM chunk ORDER BY id"
        )
    ]  # fmt: skip
    columns = zip(*rows, strict=True) if rows else [()] * len(VECTORS)
    connection.executemany(
        "INSERT INTO vector VALUES (?, ?)",
        [
            (key, array(kind, values).tobytes())
            for (key, kind), values in zip(VECTORS.items(), columns, strict=True)
        ],
    )


def _write_posting_lists(connection: sqlite3.Connection) -> None:
    frequent = connection.execute("SELECT term FROM term WHERE chunks >= ?", (FREQUENT,)).fetchall()
    for (term,) in frequent:
        for column in COLUMNS:
            found = matching_chunks(connection, (term,), column=column)
            connection.execute("INSERT INTO posting_lists VALUES (?, ?, ?)", (column, term, found))


def matching_chunks(connection: sqlite3.Connection, terms: Iterable[str], *, column: str) -> bytes:
    """The chunks, counted from 0, that hold one of `terms` in `column`, as 32-bit integers.

    SQLite returns them as one text, which takes a fraction of the time of as many rows.
    """
    import numpy as np

    quoted = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
    (text,) = connection.execute(
        "SELECT group_concat(rowid - 1) FROM words WHERE words MATCH ?", (f"{column} : ({quoted})",)
    ).fetchone()
    return np.fromstring(text or "", dtype=np.int32, sep=",").tobytes()


def _remove_leftovers(folder: Path) -> None:
    for left in folder.glob(".building-*"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _LEFT_BEHIND_S:
                left.unlink()


def _explain(target: Path, error: sqlite3.Error) -> str:
    if "no such module: fts5" in str(error):
        return "this Python's SQLite has no FTS5: use another Python"
    return f"the index {target} cannot be written: {error}; is there room for it?"
