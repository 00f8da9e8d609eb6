"""Writing an index: files are cut, and one SQLite file is filled.

The file appears under its name only when it is whole, so that a killed build leaves nothing that
could be taken for an index, and two builds at once do not meet. What an older index says about
files that did not change is taken over.
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

from cutlass_search.index.chunks import CHUNK_KINDS, Cut
from cutlass_search.index.concepts import concept_map, map_texts
from cutlass_search.index.corpus import Corpus, SourceFile, fingerprint
from cutlass_search.index.cutting import cut_all
from cutlass_search.index.schema import COLUMNS, SCHEMA, TAKE_OVER, WORDS
from cutlass_search.index.standing import standing
from mcts.errors import WorldError

_MAKERS = (
    "building", "chunks", "concepts", "generations", "headers", "lines", "schema", "standing",
    "structure", "words",
)  # fmt: skip
"""The modules of which an index is made."""
VECTORS = {"file": "i", "kind": "i", "standing": "i", "in_names": "f", "in_code": "f"}
"""One number per chunk each, by C type: the file, the kind, the standing of the file, and what a
word counts in the names and in the code of the chunk."""
IN_NAMES = 3.0
IN_CODE = 1.0
FREQUENT = 256
"""Chunks from which on a word's lists are kept ready."""
_TYPICAL_CODE = 40
_LEFT_BEHIND_S = 3_600
"""Age at which the file of a build that was killed is removed."""


@cache
def index_format() -> str:
    """A hash over the code and the map that an index is made of: with others it is made anew."""
    folder = files("cutlass_search.index")
    made = hashlib.sha256()
    for name in _MAKERS:
        made.update((folder / f"{name}.py").read_bytes())
    for text in map_texts():
        made.update(text.encode())
    return made.hexdigest()


def build(
    corpus: Corpus, sources: tuple[SourceFile, ...], target: Path, *, older: Path | None = None
) -> None:
    """Index `sources` of `corpus` into `target`. WorldError where that cannot be written.

    older: an index of this format; its files of the same size and time are not cut again.
    """
    _tidy(target.parent)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".building-", suffix=".sqlite")
    os.close(handle)
    fresh = Path(name)
    try:
        with closing(sqlite3.connect(fresh, isolation_level=None, uri=True)) as connection:
            connection.executescript(SCHEMA)
            with _no_collection():
                _fill(connection, corpus, sources, older)
        fresh.replace(target)
    except sqlite3.Error as error:
        if older is None:
            raise WorldError(_why(target, error)) from None
    else:
        return
    finally:
        fresh.unlink(missing_ok=True)
    build(corpus, sources, target)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without looking for garbage, which among so many tuples takes a tenth of the time."""
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
    known = _take_over(connection, sources, older) if older else frozenset()
    connection.execute("BEGIN")
    changed = [one for one in sources if one.path not in known]
    _write(connection, sources, cut_all(corpus.root, changed))
    for statement in WORDS.strip().split(";\n"):
        connection.execute(statement)
    _measure(connection, sources)
    _make_ready(connection)
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


def _take_over(
    connection: sqlite3.Connection, sources: Sequence[SourceFile], older: Path
) -> frozenset[str]:
    """Copy what `older` says about those of `sources` that did not change; their paths."""
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
    connection.executescript(f"BEGIN; {TAKE_OVER} COMMIT; DETACH older;")
    return frozenset(path for _, _, path in same)


def _write(
    connection: sqlite3.Connection, sources: Sequence[SourceFile], cuts: Iterable[Cut]
) -> None:
    numbers = {one.path: (number, one) for number, one in enumerate(sources, start=1)}
    for one in cuts:
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
            # As integers: `sqlite3` would look for an adapter for each bool.
            [
                (
                    symbol.name, symbol.qualified, symbol.kind, number, symbol.line, symbol.last,
                    int(symbol.body), int(symbol.special), symbol.title, symbol.note,
                )
                for symbol in one.symbols
            ],
        )  # fmt: skip


def _measure(connection: sqlite3.Connection, sources: Sequence[SourceFile]) -> None:
    """One entry per chunk and vector. Long chunks hold any word more easily."""
    own = [standing(one.path) for one in sources]
    known = {one: number for number, one in enumerate(dict.fromkeys(own))}
    connection.executemany("INSERT INTO standing VALUES (?, ?, ?, ?)", known)
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


def _make_ready(connection: sqlite3.Connection) -> None:
    frequent = connection.execute("SELECT term FROM term WHERE chunks >= ?", (FREQUENT,)).fetchall()
    for (term,) in frequent:
        for column in COLUMNS:
            found = matching(connection, (term,), column=column)
            connection.execute("INSERT INTO ready VALUES (?, ?, ?)", (column, term, found))


def matching(connection: sqlite3.Connection, terms: Iterable[str], *, column: str) -> bytes:
    """Chunks, from 0, that hold one of `terms` in `column`, as numbers of four bytes.

    They come as one text, which takes a fraction of the time that as many rows would.
    """
    import numpy as np

    quoted = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
    (text,) = connection.execute(
        "SELECT group_concat(rowid - 1) FROM words WHERE words MATCH ?", (f"{column} : ({quoted})",)
    ).fetchone()
    return np.fromstring(text or "", dtype=np.int32, sep=",").tobytes()


def _tidy(folder: Path) -> None:
    for left in folder.glob(".building-*"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _LEFT_BEHIND_S:
                left.unlink()


def _why(target: Path, error: sqlite3.Error) -> str:
    if "no such module: fts5" in str(error):
        return "this Python's SQLite has no FTS5: use another Python"
    return f"the index {target} cannot be written: {error}; is there room for it?"
