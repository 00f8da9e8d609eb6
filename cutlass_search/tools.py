"""The look-ups that a model is given: five functions with capped results that cite path and line.

They return values, which `text` formats. A question that cannot be answered raises an InputError,
whose one line says what to ask instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Generic, TypeVar

from cutlass_search.index.concepts import Concept, ConceptMap
from cutlass_search.index.store import Index
from cutlass_search.index.tokens import query_terms
from cutlass_search.reading import Passage, inside, read_passage
from cutlass_search.search.searching import LONGEST_QUERY, Hit, find
from cutlass_search.search.symbols import Definition, Use, find_definitions, find_uses
from mcts.errors import InputError

MOST_RESULTS = 10
WHOLE_QUESTION = 0.99
"""Share of a text that a concept must cover to be the one that is meant."""
INCLUDED = ("include", "tools/util/include")
"""Include folders that a compiler is given."""
_EXPRESSION = re.compile(
    r"\\[wWdDsSbB.()\[\]|?*+]|\.[*+]|\(\?[:=!<P]|\[\^|\[(?:a-z|A-Z|0-9)|[*+?]\)[*+{?]|\)[*+]\s*\$?\s*$"
)
"""What occurs in a regular expression and not in a question."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Results(Generic[T]):
    """What was found for `asked`, at most MOST_RESULTS of `total`."""

    asked: str
    results: tuple[T, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptExample:
    """A concept in this tree: where it is defined, and what uses it."""

    concept: Concept
    entries: tuple[Definition, ...]
    examples: tuple[str, ...]
    missing: tuple[str, ...]


def search(
    index: Index, query: str, kind: str | None = None, path: str | None = None
) -> Results[Hit]:
    """Places that answer `query` (words or identifiers), optionally of one `kind` or under `path`.

    InputError for a regular expression, whose words would otherwise be searched for.
    """
    for asked in (query, path or ""):
        if len(asked) <= LONGEST_QUERY and _EXPRESSION.search(asked):
            raise InputError(
                f"{asked[:60]!r} looks like a regular expression, and none is run here: ask in "
                "words or identifiers"
            )
    hits = find(index, query, kind=kind, path=path, most=MOST_RESULTS)
    return Results(asked=query, results=tuple(hits), total=len(hits))


def read(index: Index, path: str, lines: str | None = None) -> Passage:
    """Read `lines`, such as ``120-180``, of a file of the tree; its start if None.

    `path` may also be what an ``#include`` or a compiler calls it, as ``cute/tensor.hpp``.
    """
    root = index.corpus.root
    if not inside(root, path).is_file():
        included = (f"{folder}/{path}" for folder in INCLUDED)
        path = next((name for name in included if inside(root, name).is_file()), path)
    return read_passage(root, path, lines)


def definition(index: Index, symbol: str) -> Results[Definition]:
    """Where `symbol` is defined, with or without its scope."""
    found = find_definitions(index, symbol)
    return Results(asked=symbol, results=tuple(found[:MOST_RESULTS]), total=len(found))


def uses(index: Index, symbol: str) -> Results[Use]:
    """Where `symbol` is used, examples first."""
    found = find_uses(index, symbol)
    return Results(asked=symbol, results=tuple(found[:MOST_RESULTS]), total=len(found))


def example_for(index: Index, concept: str) -> ConceptExample:
    """Entry points and an example for a concept of the curated map, such as *TMA load*."""
    one = _named(index.concepts, concept[:LONGEST_QUERY])
    entries, missing = [], []
    for entry in one.entries:
        found = _in(index, entry.path, entry.symbol)
        if found is None:
            missing.append(f"{entry.path}#{entry.symbol}")
        else:
            entries.append(found)
    root = index.corpus.root
    examples = tuple(path for path in one.examples if inside(root, path).is_file())
    missing += [path for path in one.examples if path not in examples]
    return ConceptExample(
        concept=one, entries=tuple(entries), examples=examples, missing=tuple(missing)
    )


def _in(index: Index, path: str, symbol: str) -> Definition | None:
    """The definition in `path`, or else the first one anywhere; None if there is none."""
    try:
        found = find_definitions(index, symbol)
    except InputError:
        return None
    return next((one for one in found if one.path == path and one.body), found[0])


def _named(known: ConceptMap, text: str) -> Concept:
    """The concept that is called `text`, or else the one with the longest phrase in it, or else
    the one whose name or phrases hold all of `text`. InputError if there is none."""
    found = known.likely(query_terms(text))
    likely = [one for one, _, _ in found]
    matching = known.mentioned(text)
    if matching:
        longest = [one for one, phrase in matching if len(phrase) == len(matching[0][1])]
        if called := [one for one in longest if one.name.lower() == text.strip().lower()]:
            return called[0]
        return next((one for one in likely if one in longest), longest[0])
    if found and found[0][2] >= WHOLE_QUESTION:
        return likely[0]
    if likely:
        near = ", ".join(repr(one.name) for one in likely)
        raise InputError(f"no concept {text[:60]!r}; did you mean {near}?")
    some = ", ".join(one.name for one in known.concepts[:MOST_RESULTS])
    raise InputError(
        f"no concept {text[:60]!r}; there are {len(known.concepts)}, among them {some}"
    )
