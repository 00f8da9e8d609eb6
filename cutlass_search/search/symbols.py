"""Where a symbol is defined, and where it is used."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from typing import NamedTuple

from cutlass_search.index.path_factors import NEWER, architectures
from cutlass_search.index.store import Index
from cutlass_search.index.tokens import stem
from mcts.errors import InputError

LONGEST_SYMBOL = 200
_SYMBOL = re.compile(r"(?:::)?(?:\w+::)*(?:~?\w+|operator[^\w\s]{1,3}|operator [\w:]+)")
_MOST_CHUNKS = 300
"""Number of chunks, by path, in which uses are searched for; examples come first."""


class Definition(NamedTuple):
    """`special`: a specialisation; `body` is False for a forward declaration."""

    path: str
    line: int
    last: int
    kind: str
    qualified: str
    title: str
    note: str
    body: bool
    special: bool


class Use(NamedTuple):
    """A line that names a symbol without defining it."""

    path: str
    line: int
    text: str


def find_definitions(index: Index, symbol: str) -> list[Definition]:
    """Every definition of `symbol`, primary ones first; its scope may be left out or shortened.

    InputError if it is not a name, and, with similar names, if nothing defines it.
    """
    scope, name = split_symbol(symbol)
    found = [
        Definition._make((*row[:7], bool(row[7]), bool(row[8])))
        for row in index.connection.execute(
            "SELECT path, line, last, kind, qualified, title, note, body, special "
            "FROM symbol s JOIN file f ON f.id = s.file WHERE s.name = ? COLLATE NOCASE",
            (name,),
        )
    ]
    exact = [one for one in found if one.qualified.rsplit("::", 1)[-1] == name] or found
    if scope:
        exact = [one for one in exact if f"::{one.qualified}".endswith(f"::{scope}::{name}")]
    if not exact:
        raise InputError(_unknown_symbol(index, symbol, name))
    return sorted(exact, key=_definition_order)


def find_uses(index: Index, symbol: str) -> list[Use]:
    """Lines that name `symbol` without defining it; one per chunk, examples first.

    InputError if it is not a name, or if nothing in the tree uses it.
    """
    _, name = split_symbol(symbol)
    found_in = index.rows((stem(name.lower()),), column="code")
    by_path = sorted(found_in.tolist(), key=lambda at: (index.vectors["file"][at], at))
    at = [one + 1 for one in by_path[:_MOST_CHUNKS]]
    marks = ", ".join("?" * len(at))
    chunks = index.connection.execute(
        f"""SELECT f.path, c.line, c.last FROM chunk c JOIN file f ON f.id = c.file
            WHERE c.id IN ({marks}) AND c.kind NOT IN ('file', 'doc')
            ORDER BY f.path NOT LIKE 'examples/%', f.path, c.line""",
        at,
    ).fetchall()
    defined = {
        (path, line)
        for path, line in index.connection.execute(
            "SELECT f.path, s.line FROM symbol s JOIN file f ON f.id = s.file WHERE s.name = ?",
            (name,),
        )
    }
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    texts: dict[str, list[str]] = {}
    found: dict[tuple[str, int], Use] = {}
    for path, line, last in chunks:
        if path not in texts:
            texts[path] = _lines(index, path)
        for number in range(line, last + 1):
            text = texts[path][number - 1] if number <= len(texts[path]) else ""
            code = text.split("//", 1)[0]
            if (
                word.search(code)
                and (path, number) not in defined
                and not _is_declaration(code, name)
            ):
                found.setdefault((path, number), Use(path, number, text.strip()))
                break
    if not found:
        raise InputError(f"nothing uses {symbol} outside of its definition")
    return _interleave_files(list(found.values()))


def split_symbol(symbol: str) -> tuple[str, str]:
    """The scope and the name of a symbol as a model writes it. InputError if it is not a name."""
    cleaned = symbol.strip()
    if "operator" not in cleaned:
        cleaned = cleaned.removesuffix("()").split("<", 1)[0].strip()
    if len(symbol) > LONGEST_SYMBOL or not _SYMBOL.fullmatch(cleaned):
        raise InputError(f"{symbol[:60]!r} is no C++ name: name one such as cute::make_tma_copy")
    scope, _, name = cleaned.removeprefix("::").rpartition("::")
    return scope, name


def _interleave_files(found: list[Use]) -> list[Use]:
    """One use of each file before the second of any, and Hopper's files before newer ones."""
    seen: Counter[str] = Counter()
    keyed = []
    for at, one in enumerate(found):
        newer = bool(architectures(one.path) & set(NEWER))
        example = one.path.startswith("examples/")
        keyed.append(((seen[one.path], not example, newer, at), one))
        seen[one.path] += 1
    return [one for _, one in sorted(keyed, key=lambda pair: pair[0])]


def _definition_order(one: Definition) -> tuple[bool, bool, bool, bool, str, int]:
    owner = one.qualified.split("::")[-2:-1] == [one.qualified.rsplit("::", 1)[-1]]
    return (
        not one.body, owner, one.special, not one.path.startswith("include/"), one.path, one.line
    )  # fmt: skip


def _is_declaration(code: str, name: str) -> bool:
    """Whether a line opens a definition or forward declaration of `name`."""
    return (
        re.match(rf"\s*(?:struct|class|union|enum|#\s*define)\b.*\b{re.escape(name)}\b", code)
        is not None
    )


def _lines(index: Index, path: str) -> list[str]:
    try:
        return (index.corpus.root / path).read_text("utf-8", errors="replace").split("\n")
    except OSError:
        return []


def _unknown_symbol(index: Index, symbol: str, name: str) -> str:
    nearby = [
        str(other)
        for (other,) in index.connection.execute(
            "SELECT DISTINCT name FROM symbol WHERE body AND length(name) BETWEEN ? AND ? "
            "AND substr(lower(name), 1, 1) = ?",
            (len(name) - 8, len(name) + 8, name[:1].lower()),
        )
    ]
    similar = difflib.get_close_matches(name, nearby, n=4, cutoff=0.6)
    version = index.corpus.version
    hint = f"; similar: {', '.join(similar)}" if similar else ": search for it in words instead"
    return f"nothing in CUTLASS {version} defines {symbol}{hint}"
