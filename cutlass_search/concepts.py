"""A small map from what authors ask for to where CUTLASS keeps it: `concepts.toml`.

The places are checked against the tree that is searched; what a version lacks is left out.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from cutlass_search.words import stem

_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A place to read: `symbol` is empty where the whole file is meant."""

    path: str
    symbol: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Concept:
    """says: a sentence; phrases: word stems, any of which names it; entries: in reading order."""

    name: str
    says: str
    phrases: tuple[frozenset[str], ...]
    entries: tuple[Entry, ...]
    examples: tuple[str, ...]


@cache
def concepts() -> tuple[Concept, ...]:
    """The whole map."""
    text = (files("cutlass_search") / "concepts.toml").read_text(encoding="utf-8")
    return tuple(
        Concept(
            name=one["name"],
            says=one["says"],
            phrases=tuple(stems(phrase) for phrase in (one["name"], *one["also"])),
            entries=tuple(_entry(place) for place in one["entry"]),
            examples=tuple(one["example"]),
        )
        for one in tomllib.loads(text)["concept"]
    )


def named(text: str) -> list[tuple[Concept, frozenset[str]]]:
    """Concepts of which a whole phrase occurs in `text`, and the longest such phrase."""
    words = stems(text)
    found = []
    for one in concepts():
        held = [phrase for phrase in one.phrases if phrase <= words]
        if held:
            found.append((one, max(held, key=len)))
    return sorted(found, key=lambda pair: -len(pair[1]))


def stems(text: str) -> frozenset[str]:
    """The words of `text` by their stems."""
    words = _WORD.findall(text.lower())
    return frozenset(stem(word) for word in words)


def _entry(place: str) -> Entry:
    path, _, symbol = place.partition("#")
    return Entry(path=path, symbol=symbol)
