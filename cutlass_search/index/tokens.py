"""Tokens: how identifiers and questions become the terms of the index.

An identifier is kept whole and also split at underscores and at changes of case, so that
``SM90_TMA_LOAD`` is found by its name and by *tma load*. A question is split the same way; its
words are also joined in pairs (*stream k* finds ``StreamK``) and expanded by synonyms.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import chain
from typing import NamedTuple

from cutlass_search.index.word_lists import BOILERPLATE, STOP_WORDS, SYNONYMS

IDENTIFIER = re.compile(r"[A-Za-z_]\w+")
_PART = re.compile(r"\d+(?:x\d+)+|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+")
_WORD = re.compile(r"[A-Za-z0-9_]+")


class QueryTerm(NamedTuple):
    """A word of a question and its synonyms; `joined` if it is two words written as one."""

    word: str
    synonyms: tuple[str, ...]
    joined: bool


def split_identifier(identifier: str) -> tuple[str, ...]:
    """The words of an identifier in lower case; empty if it is a single word."""
    found = [part for piece in identifier.split("_") for part in _split_camel_case(piece)]
    return tuple(found) if len(found) > 1 else ()


@lru_cache(1 << 16)
def _split_camel_case(piece: str) -> tuple[str, ...]:
    """The words of a piece between underscores; cached, since pieces recur in many identifiers."""
    return tuple(part.lower() for part in _PART.findall(piece))


@lru_cache(1 << 16)
def stem(word: str) -> str:
    """The stem of `word`, which is in lower case; identifiers are returned unchanged."""
    if len(word) < 5 or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > 6:
        word = f"{word[:-3]}y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if ("is" in word or "iz" in word) and (found := _IZE.fullmatch(word)):
        word = found[1]
    for ending, least in _ENDINGS:
        if word.endswith(ending) and len(word) >= least:
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
    if len(word) > 4:
        word = word.removesuffix("e")
    if len(word) > 6:
        word = word.removesuffix("at")
    return _IRREGULAR.get(word, word)


_IZE = re.compile(r"([a-z]{4,}?)(?:is|iz)(?:e|ed|er|ing|ation)")
_ENDINGS = (("ing", 7), ("ed", 6), ("er", 6), ("or", 7), ("ion", 7), ("ment", 8))
_IRREGULAR = {
    "composit": "compos", "convers": "convert", "divis": "divid", "indic": "index",
    "matric": "matrix", "multiplic": "multiply", "reduct": "reduc", "transposit": "transpos",
}  # fmt: skip


def terms(text: str) -> set[str]:
    """The stemmed identifiers of `text`, whole and in parts, as the index keeps them."""
    runs = set(text.encode().translate(_WORD_BYTES).split())
    return set(chain.from_iterable(map(_TERMS.__getitem__, runs)))


class _TermCache(dict[bytes, tuple[str, ...]]):
    """The terms of a run of word characters, computed once: runs recur all over a tree."""

    def __missing__(self, run: bytes) -> tuple[str, ...]:
        words: list[str] = []
        for one in IDENTIFIER.findall(run.decode()):
            if one not in BOILERPLATE:
                words += (one.lower(), *split_identifier(one))
        found = self[run] = tuple(map(stem, words))
        return found


_TERMS = _TermCache()
_WORD_BYTES = bytes(
    at if at >= 128 or chr(at).isalnum() or chr(at) == "_" else ord(" ") for at in range(256)
)
"""A translation table for UTF-8 that replaces whatever is not part of a word by a blank."""


def query_terms(question: str) -> list[QueryTerm]:
    """The terms of `question` in order, without stop words and repetitions."""
    synonyms = _stemmed_synonyms()
    found: dict[str, QueryTerm] = {}
    words = _WORD.findall(question.replace("::", " "))
    plain = [word.lower() for word in words]
    for at, word in enumerate(plain):
        pair = plain[at : at + 2]
        if len(pair) == 2:
            joined = "".join(pair)
            meant = synonyms.get("_".join(map(stem, pair)), ())
            if "-" in question or meant or not STOP_WORDS & set(pair):
                found.setdefault(f"+{joined}", QueryTerm(joined, meant, True))
        if word in STOP_WORDS or len(word) < 2:
            continue
        for one in (word, *split_identifier(words[at])):
            if len(one) > 1 and (one == word or one not in STOP_WORDS):
                meant = tuple(other for other in synonyms.get(stem(one), ()) if other != one)
                found.setdefault(one, QueryTerm(one, meant, False))
    return list(found.values())


@cache
def _stemmed_synonyms() -> dict[str, tuple[str, ...]]:
    return {"_".join(map(stem, words.split("_"))): others for words, others in SYNONYMS.items()}
