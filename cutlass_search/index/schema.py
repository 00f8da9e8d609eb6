"""The tables of an index, and the statements that fill them from other tables."""

from __future__ import annotations

COLUMNS = ("names", "about", "code")
"""Where a word occurs in a chunk: in the names it defines, in text about it, or in its code."""

SCHEMA = """
PRAGMA page_size = 16384;
PRAGMA cache_size = -65536;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE fact (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE vector (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
CREATE TABLE path_traits (
    architectures INTEGER NOT NULL, cutlass_2 INTEGER NOT NULL, area INTEGER NOT NULL,
    variants INTEGER NOT NULL
) STRICT;
CREATE TABLE file (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, lines INTEGER NOT NULL,
    size INTEGER NOT NULL, changed_ns INTEGER NOT NULL
) STRICT;
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
    line INTEGER NOT NULL, last INTEGER NOT NULL, title TEXT NOT NULL, note TEXT NOT NULL,
    names TEXT NOT NULL, about TEXT NOT NULL, code TEXT NOT NULL,
    named INTEGER NOT NULL, used INTEGER NOT NULL
) STRICT;
CREATE TABLE symbol (
    name TEXT NOT NULL, qualified TEXT NOT NULL, kind TEXT NOT NULL, file INTEGER NOT NULL,
    line INTEGER NOT NULL, last INTEGER NOT NULL, body INTEGER NOT NULL,
    special INTEGER NOT NULL, title TEXT NOT NULL, note TEXT NOT NULL
) STRICT;
CREATE VIRTUAL TABLE words USING fts5 (
    names, about, code, content = 'chunk', content_rowid = 'id', detail = column, columnsize = 0,
    tokenize = "ascii tokenchars '_'"
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);
CREATE TABLE term (term TEXT PRIMARY KEY, chunks INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE posting_lists (field TEXT NOT NULL, term TEXT NOT NULL, list BLOB NOT NULL) STRICT;
"""
"""`posting_lists` holds the chunks of frequent words, which are slow to read from FTS5."""

FILL_WORDS = """
INSERT INTO words (words, rank) VALUES ('hashsize', 268435456);
INSERT INTO words (words) VALUES ('rebuild');
INSERT INTO term SELECT term, doc FROM vocabulary;
CREATE INDEX symbol_name ON symbol (name COLLATE NOCASE, file);
CREATE INDEX chunk_file ON chunk (file, line);
CREATE UNIQUE INDEX file_path ON file (path);
"""
"""With such a large hash FTS5 writes each word once and has nothing to merge."""

COPY_UNCHANGED = """
INSERT INTO file SELECT new, path, lines, size, changed_ns FROM older.file JOIN same ON old = id;
INSERT INTO chunk (file, kind, name, line, last, title, note, names, about, code, named, used)
    SELECT new, kind, name, line, last, title, note, names, about, code, named, used
    FROM older.chunk JOIN same ON old = file ORDER BY id;
INSERT INTO symbol
    SELECT name, qualified, kind, new, line, last, body, special, title, note
    FROM older.symbol JOIN same ON old = file;
"""
"""Copies rows about unchanged files; `same` maps their old numbers to new ones."""
