"""The look-ups that a model is given: five functions, each capped and each citing path and line.

They answer with values; `text` writes those as a model or a person reads them. What cannot be
answered is an InputError, whose one line says what to ask instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Generic, TypeVar

from cutlass_search.index.concepts import Concept, ConceptMap
from cutlass_search.index.store import Index
from cutlass_search.index.words import groups
from cutlass_search.reading import Passage, inside, read_passage
from cutlass_search.search.searching import LONGEST_QUERY, Hit, find
from cutlass_search.search.symbols import Definition, Use, definitions, using
from mcts.errors import InputError

MOST_RESULTS = 10
WHOLE = 0.99
"""Share of a text from which on a concept is taken for what it names."""
INCLUDED = ("include", "tools/util/include")
"""Folders that a compiler is given for headers."""
_EXPRESSION = re.compile(
    r"\\[wWdDsSbB.()\[\]|?*+]|\.[*+]|\(\?[:=!<P]|\[\^|\[(?:a-z|A-Z|0-9)|[*+?]\)[*+{?]|\)[*+]\s*\$?\s*$"
)
"""What a regular expression has and a question has not."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Generic[T]):
    """What was found for `asked`, at most MOST_RESULTS; `total` counts what there is."""

    asked: str
    results: tuple[T, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A concept in this tree: where it is defined, and what uses it."""

    concept: Concept
    entries: tuple[Definition, ...]
    examples: tuple[str, ...]
    missing: tuple[str, ...]


def search(
    index: Index, query: str, kind: str | None = None, path: str | None = None
) -> Found[Hit]:
    """Places that answer `query`, words or identifiers; only of `kind`, only under `path`.

    InputError for a regular expression: it would be searched for by the words in it.
    """
    for asked in (query, path or ""):
        if len(asked) <= LONGEST_QUERY and _EXPRESSION.search(asked):
            raise InputError(
                f"{asked[:60]!r} looks like a regular expression, and none is run here: ask in "
                "words or identifiers"
            )
    hits = find(index, query, kind=kind, path=path, most=MOST_RESULTS)
    return Found(asked=query, results=tuple(hits), total=len(hits))


def read(index: Index, path: str, lines: str | None = None) -> Passage:
    """Lines of a file of the tree, as ``120-180``; its start without.

    `path` may also be what an ``#include`` or a compiler calls it, as ``cute/tensor.hpp``.
    """
    root = index.corpus.root
    if not inside(root, path).is_file():
        included = (f"{folder}/{path}" for folder in INCLUDED)
        path = next((name for name in included if inside(root, name).is_file()), path)
    return read_passage(root, path, lines)


def definition(index: Index, symbol: str) -> Found[Definition]:
    """Where `symbol` is defined, with or without its scope."""
    found = definitions(index, symbol)
    return Found(asked=symbol, results=tuple(found[:MOST_RESULTS]), total=len(found))


def uses(index: Index, symbol: str) -> Found[Use]:
    """Where `symbol` is used, examples first."""
    found = using(index, symbol)
    return Found(asked=symbol, results=tuple(found[:MOST_RESULTS]), total=len(found))


def example_for(index: Index, concept: str) -> Shown:
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
    return Shown(concept=one, entries=tuple(entries), examples=examples, missing=tuple(missing))


def _in(index: Index, path: str, symbol: str) -> Definition | None:
    """The definition in `path`, else the first one anywhere; None where there is none."""
    try:
        found = definitions(index, symbol)
    except InputError:
        return None
    return next((one for one in found if one.path == path and one.body), found[0])


def _named(known: ConceptMap, text: str) -> Concept:
    """The concept that is called `text`, else that of which it holds the longest phrase, and of
    those the likeliest; without one, that of which the name or phrases hold all of `text`."""
    found = known.likely(groups(text))
    likely = [one for one, _, _ in found]
    matching = known.named(text)
    if matching:
        longest = [one for one, phrase in matching if len(phrase) == len(matching[0][1])]
        if called := [one for one in longest if one.name.lower() == text.strip().lower()]:
            return called[0]
        return next((one for one in likely if one in longest), longest[0])
    if found and found[0][2] >= WHOLE:
        return likely[0]
    if likely:
        near = ", ".join(repr(one.name) for one in likely)
        raise InputError(f"no concept {text[:60]!r}; did you mean {near}?")
    some = ", ".join(one.name for one in known.concepts[:MOST_RESULTS])
    raise InputError(
        f"no concept {text[:60]!r}; there are {len(known.concepts)}, among them {some}"
    )
