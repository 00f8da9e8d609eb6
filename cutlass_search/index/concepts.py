"""A map from what authors ask for to the places in CUTLASS: the files of `concept_map`.

A ``[[concept]]`` has a name; ``says``, a sentence; ``also``, phrases with the same meaning;
``words`` that people use when they ask for it; ``entry``, places as path#symbol, the first to read
first; and ``example``, files that use it. The paths are those of CUTLASS 4: a symbol that moved is
found by its name, and a place that a version lacks is left out.
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

from cutlass_search.index.tokens import QueryTerm, stem
from cutlass_search.index.word_lists import STOP_WORDS

MOST_LIKELY = 6
NAME_WEIGHT, DESCRIPTION_WEIGHT = 1.0, 0.7
"""The weight of a word that is in the name or phrases of a concept, or in its sentence."""
UNKNOWN_WEIGHT = 0.3
"""The weight of a word that is in no concept, in the share of a question that one covers."""
_WORD = re.compile(r"[a-z0-9]+")


class Entry(NamedTuple):
    """A place to read; `symbol` is empty if the whole file is meant."""

    path: str
    symbol: str


class Concept(NamedTuple):
    """says: a sentence; phrases: sets of word stems, each of which names it; entries: in reading
    order."""

    name: str
    says: str
    phrases: Sequence[Sequence[str]]
    entries: Sequence[Entry]
    examples: Sequence[str]


class ConceptMap(NamedTuple):
    """Concepts, and by word stem the numbers of those whose name or phrases (by_name), or whose
    sentence or words (by_description), hold it."""

    concepts: Sequence[Concept]
    by_name: Mapping[str, Sequence[int]]
    by_description: Mapping[str, Sequence[int]]

    def mentioned(self, text: str) -> list[tuple[Concept, frozenset[str]]]:
        """Concepts with a phrase that occurs in `text`, each with the longest such phrase."""
        words = stems(text)
        found = []
        for one in self.concepts:
            held = [phrase for phrase in one.phrases if words.issuperset(phrase)]
            if held:
                found.append((one, max(map(frozenset, held), key=len)))
        return sorted(found, key=lambda pair: -len(pair[1]))

    def likely(self, wanted: Sequence[QueryTerm]) -> list[tuple[Concept, float, float]]:
        """Concepts that share words with a question, the most likely first.

        Each comes with the summed rarity (inverse document frequency over the map) of the words it
        shares, and with their share of the question, in [0, 1].
        """
        total = len(self.concepts)
        shared = [0.0] * total
        every = 0.0
        for term in wanted:
            if term.joined:
                continue
            best: dict[int, float] = {}
            words = {stem(word) for word in (term.word, *term.synonyms)}
            for weight, holders in (
                (DESCRIPTION_WEIGHT, self.by_description),
                (NAME_WEIGHT, self.by_name),
            ):
                for word in words:
                    best |= dict.fromkeys(holders.get(word, ()), weight)
            rarity = math.log(1 + total / (1 + len(best)))
            every += rarity if best else UNKNOWN_WEIGHT * rarity
            for number, weight in best.items():
                shared[number] += rarity * weight
        order = sorted(range(total), key=lambda number: -shared[number])[:MOST_LIKELY]
        return [
            (self.concepts[number], shared[number], shared[number] / every)
            for number in order
            if shared[number] > 0
        ]

    def dump(self) -> str:
        """Serialise the map; `load_map` reads this in a fraction of the time of the files."""
        return json.dumps(self)


@cache
def concept_map() -> ConceptMap:
    """Read the whole map from its files."""
    by_name: dict[str, list[int]] = {}
    by_description: dict[str, list[int]] = {}
    found = [one for text in map_texts() for one in tomllib.loads(text)["concept"]]
    for number, one in enumerate(found):
        named = stems(" ".join((one["name"], *one["also"])))
        said = stems(f"{one['says']} {one.get('words', '')}")
        for holders, words in ((by_name, named), (by_description, said)):
            for word in sorted(words - STOP_WORDS):
                holders.setdefault(word, []).append(number)
    return ConceptMap([_concept(one) for one in found], by_name, by_description)


def concepts() -> Sequence[Concept]:
    """The concepts of the whole map."""
    return concept_map().concepts


def load_map(text: str) -> ConceptMap:
    """Read what `ConceptMap.dump` wrote. ValueError or TypeError for any other text."""
    found, by_name, by_description = json.loads(text)
    concepts = [
        Concept(name, says, phrases, [Entry(*place) for place in entries], examples)
        for name, says, phrases, entries, examples in found
    ]
    return ConceptMap(concepts, by_name, by_description)


def map_texts() -> list[str]:
    """The contents of the map's files, in the order of their names."""
    found = (files("cutlass_search.index") / "concept_map").iterdir()
    places = sorted((one for one in found if one.name.endswith(".toml")), key=lambda one: one.name)
    return [one.read_text(encoding="utf-8") for one in places]


def stems(text: str) -> frozenset[str]:
    """The stems of the words of `text`."""
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
