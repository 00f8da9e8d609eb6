"""A map from what authors ask for to where CUTLASS keeps it: the files of `concept_map`.

A ``[[concept]]`` has a name; ``says``, a sentence; ``also``, phrases that name it as well;
``words`` that people use when they ask for it; ``entry``, places as path#symbol, the first to read
first; and ``example``, files that use it. The paths are those of CUTLASS 4: a symbol that moved is
found by its name, and what a version lacks is left out.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from cutlass_search.index.words import STOP, Group, stem

MOST_LIKELY = 6
NAMED, SAID = 1.0, 0.7
"""What a word speaks for a concept whose name or phrases hold it, or whose sentence does."""
UNKNOWN = 0.3
"""What a word that no concept knows counts in the share of a question that one covers."""
_WORD = re.compile(r"[a-z0-9]+")


class Entry(NamedTuple):
    """A place to read: `symbol` is empty where the whole file is meant."""

    path: str
    symbol: str


class Concept(NamedTuple):
    """says: a sentence; phrases: word stems, all of any of which name it; entries: in reading
    order."""

    name: str
    says: str
    phrases: Sequence[Sequence[str]]
    entries: Sequence[Entry]
    examples: Sequence[str]


class ConceptMap(NamedTuple):
    """Concepts, and the numbers of those whose name or phrases (named_by), or whose sentence or
    words (said_by), hold a word stem."""

    concepts: Sequence[Concept]
    named_by: Mapping[str, Sequence[int]]
    said_by: Mapping[str, Sequence[int]]

    def named(self, text: str) -> list[tuple[Concept, frozenset[str]]]:
        """Concepts of which a whole phrase occurs in `text`, and the longest such phrase."""
        words = stems(text)
        found = []
        for one in self.concepts:
            held = [phrase for phrase in one.phrases if words.issuperset(phrase)]
            if held:
                found.append((one, max(map(frozenset, held), key=len)))
        return sorted(found, key=lambda pair: -len(pair[1]))

    def likely(self, wanted: Sequence[Group]) -> list[tuple[Concept, float, float]]:
        """Concepts that share words with a question, the likeliest first.

        Each comes with the sum of the rarities (inverse document frequencies over the map) of what
        it shares, and with the share of the question that this is, in [0, 1].
        """
        total = len(self.concepts)
        shared = [0.0] * total
        every = 0.0
        for group in wanted:
            if group.joined:
                continue
            best: dict[int, float] = {}
            words = {stem(word) for word in (group.word, *group.same)}
            for weight, holders in ((SAID, self.said_by), (NAMED, self.named_by)):
                for word in words:
                    best |= dict.fromkeys(holders.get(word, ()), weight)
            rarity = math.log(1 + total / (1 + len(best)))
            every += rarity if best else UNKNOWN * rarity
            for number, weight in best.items():
                shared[number] += rarity * weight
        order = sorted(range(total), key=lambda number: -shared[number])[:MOST_LIKELY]
        return [
            (self.concepts[number], shared[number], shared[number] / every)
            for number in order
            if shared[number] > 0
        ]

    def dump(self) -> str:
        """The map as a text that `load_map` reads in a fraction of the time of the files."""
        return json.dumps(self)


@cache
def concept_map() -> ConceptMap:
    """The whole map, from its files."""
    named_by: dict[str, list[int]] = {}
    said_by: dict[str, list[int]] = {}
    found = [one for text in map_texts() for one in tomllib.loads(text)["concept"]]
    for number, one in enumerate(found):
        named = stems(" ".join((one["name"], *one["also"])))
        said = stems(f"{one['says']} {one.get('words', '')}")
        for holders, words in ((named_by, named), (said_by, said)):
            for word in sorted(words - STOP):
                holders.setdefault(word, []).append(number)
    return ConceptMap([_concept(one) for one in found], named_by, said_by)


def concepts() -> Sequence[Concept]:
    """The concepts of the whole map."""
    return concept_map().concepts


def load_map(text: str) -> ConceptMap:
    """The map that `ConceptMap.dump` wrote. ValueError or TypeError for another text."""
    found, named_by, said_by = json.loads(text)
    concepts = [
        Concept(name, says, phrases, [Entry(*place) for place in entries], examples)
        for name, says, phrases, entries, examples in found
    ]
    return ConceptMap(concepts, named_by, said_by)


def map_texts() -> list[str]:
    """The files of the map, by name."""
    found = (files("cutlass_search.index") / "concept_map").iterdir()
    places = sorted((one for one in found if one.name.endswith(".toml")), key=lambda one: one.name)
    return [one.read_text(encoding="utf-8") for one in places]


def stems(text: str) -> frozenset[str]:
    """The words of `text` by their stems."""
    words = _WORD.findall(text.lower())
    return frozenset(stem(word) for word in words)


def _concept(one: Mapping[str, Any]) -> Concept:
    return Concept(
        name=one["name"],
        says=one["says"],
        phrases=[sorted(stems(phrase)) for phrase in (one["name"], *one["also"])],
        entries=[_entry(place) for place in one["entry"]],
        examples=one["example"],
    )


def _entry(place: str) -> Entry:
    path, _, symbol = place.partition("#")
    return Entry(path, symbol)
