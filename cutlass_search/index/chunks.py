"""Chunks: files split along their structure into what a search finds and cites.

A function, a small class, an enumeration is a chunk; a large class becomes an outline and its
members; small declarations between these (aliases, constants, one-line macros) are grouped. A
generated file holds hundreds of declarations that differ only in their numbers: these become one
chunk per family, and each keeps its name in the table of symbols.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple, TypedDict

from cutlass_search.index.declarators import template_end
from cutlass_search.index.source_text import Lines, clean_comment, count_lines
from cutlass_search.index.structure import Declaration, declarations
from cutlass_search.index.tokens import terms

CHUNK_KINDS = (
    "struct", "function", "kernel", "macro", "alias", "enum", "variable", "concept", "file", "doc"
)  # fmt: skip
SMALL_CLASS = 60
"""Lines up to which a class is one chunk."""
SMALL_MEMBER = 4
"""Lines up to which a member stays in the outline of its class."""
LONGEST_LOOSE = 60
GENERATED = 250_000
"""Characters from which a file is assumed to be generated."""
_BODIES_OF_A_FAMILY = 2
_TITLE = 180
_ABOUT_FILE = 3_000

_BLOCK_COMMENT = re.compile(r"\s*/\*[^*]*(?:\*(?!/)[^*]*)*\*/")
_FIRST_COMMENTS = re.compile(
    r"(?:\s|#pragma once|(?P<c>/\*[^*]*(?:\*(?!/)[^*]*)*\*/|//[^\n]*))*", re.DOTALL
)
_COMMENT = re.compile(r"//[^\n]*|/\*[^*]*(?:\*(?!/)[^*]*)*\*/")
_HEADING = re.compile(r"^#{1,4} +(.+)$", re.MULTILINE)
_NUMBERS = re.compile(r"\d+")


class Chunk(NamedTuple):
    """Lines count from 1 and include the comment above. `names`, `about` and `code` are the words
    it is found by: what it defines, what comments and the path say, and what it uses; `named` and
    `used` are the numbers of words in the first and the last."""

    kind: str
    name: str
    line: int
    last: int
    title: str
    note: str
    names: str
    about: str
    code: str
    named: int
    used: int


class Symbol(NamedTuple):
    """A definition (`body`) or forward declaration; `special` if it is a specialisation."""

    name: str
    qualified: str
    kind: str
    line: int
    last: int
    body: bool
    special: bool
    title: str
    note: str


class ChunkedFile(NamedTuple):
    """The chunks and symbols of a file, and its number of lines."""

    path: str
    lines: int
    chunks: list[Chunk]
    symbols: list[Symbol]


def chunk_file(path: str, text: str) -> ChunkedFile:
    """Split `text`, the file at `path`, into chunks and symbols."""
    if path.endswith((".md", ".rst")):
        return _document(path, text)
    return _Chunker(path, text).run()


class _Chunker:
    def __init__(self, path: str, text: str) -> None:
        self._path, self._text = path, text
        self._words_of_path = terms(path)
        self._start = _licence_end(text)
        self._count = count_lines(text)
        self._chunks: list[Chunk] = []
        self._symbols: list[Symbol] = []
        self._loose: list[Declaration] = []
        self._titles: dict[tuple[int, int], str] = {}

    def run(self) -> ChunkedFile:
        generated = len(self._text) > GENERATED
        found = declarations(self._text, start=self._start, members=not generated)
        self._file(found)
        if generated:
            self._families(found)
        else:
            for one in found:
                self._place(one)
            self._flush()
        return ChunkedFile(self._path, self._count, self._chunks, self._symbols)

    def _place(self, one: Declaration) -> None:
        if not self._is_loose(one):
            self._flush()
            self._chunk(one)
            return
        self._symbol(one)
        if self._loose and one.last - self._loose[0].first > LONGEST_LOOSE:
            self._flush()
        self._loose.append(one)

    def _is_loose(self, one: Declaration) -> bool:
        if one.kind in ("alias", "variable") or not one.body:
            return True
        return one.kind == "macro" and "\n" not in self._text[one.head : one.end]

    def _flush(self) -> None:
        loose, self._loose = self._loose, []
        if loose:
            kind = loose[0].kind if len({one.kind for one in loose}) == 1 else "alias"
            self._add(kind, loose[0], loose, self._text[loose[0].start : loose[-1].end])

    def _chunk(self, one: Declaration) -> None:
        self._symbol(one)
        text = self._text[one.head : one.end]
        if one.kind != "struct" or one.last - one.line <= SMALL_CLASS:
            self._add(one.kind, one, [one, *self._inner(one)], text)
            return
        apart = []
        for member in one.members:
            if _is_apart(member):
                apart.append(member)
            else:
                self._symbol(member)
        rest, at = [], one.head
        for member in apart:
            rest.append(self._text[at : member.start])
            at = max(at, member.end)
        rest.append(self._text[at : one.end])
        self._add(one.kind, one, [one, *one.members], "".join(rest))
        for member in apart:
            self._chunk(member)

    def _inner(self, one: Declaration) -> list[Declaration]:
        found = []
        for member in one.members:
            self._symbol(member)
            found += [member, *self._inner(member)]
        return found

    def _families(self, found: list[Declaration]) -> None:
        families: dict[tuple[str, str, str], list[Declaration]] = {}
        for one in found:
            key = (one.kind, one.scope, _NUMBERS.sub("0", one.name))
            families.setdefault(key, []).append(one)
            self._symbol(one)
        for kin in families.values():
            text = " ".join(
                self._text[one.head : one.end] for one in kin[:_BODIES_OF_A_FAMILY]
            ) + " ".join(self._title(one) for one in kin)
            self._add(kin[0].kind, kin[0], kin, text, kin=len(kin))

    def _file(self, found: list[Declaration]) -> None:
        first = _FIRST_COMMENTS.match(self._text, self._start)
        said = _COMMENT.findall(first.group())[:40] if first else []
        about = clean_comment(said)[:_ABOUT_FILE].replace("\\file", "").replace("\\brief", "")
        names = dict.fromkeys(one.name for one in found if one.body and one.kind != "variable")
        title = next((line.strip() for line in about.splitlines() if line.strip()), "")
        name = self._path.rsplit("/", 1)[-1]
        words = terms(about) | self._words_of_path
        self._chunks.append(
            Chunk(
                kind="file", name=name, line=1, last=self._count,
                title=title[:_TITLE], note="", **_words(terms(name), words, terms(" ".join(names))),
            )
        )  # fmt: skip

    def _add(
        self, kind: str, one: Declaration, holds: Iterable[Declaration], text: str, *, kin: int = 1
    ) -> None:
        holds = list(holds)
        last = one.last if kin > 1 else max(each.last for each in holds)
        names = " ".join(each.name + " " + " ".join(each.enumerators) for each in holds)
        said = terms(f"{one.scope} {one.comment}") | self._words_of_path
        title = self._title(one) + (f" (and {kin - 1} like it)" if kin > 1 else "")
        self._chunks.append(
            Chunk(
                kind=kind, name=one.qualified, line=one.first, last=last,
                title=title, note=one.note, **_words(terms(names), said, terms(text)),
            )
        )  # fmt: skip

    def _symbol(self, one: Declaration) -> None:
        title = self._title(one)
        self._symbols.append(
            Symbol(
                one.name, one.qualified, one.kind, one.line, one.last, one.body, one.special,
                title, one.note,
            )
        )  # fmt: skip
        for name in one.enumerators:
            self._symbols.append(
                Symbol(name, f"{one.qualified}::{name}", "enumerator", one.line, one.last, True,
                       False, title, "")
            )  # fmt: skip

    def _title(self, one: Declaration) -> str:
        """The head in one line, without the body; cached, since symbol and chunk both show it."""
        title = self._titles.get((one.head, one.end))
        if title is None:
            title = self._titles[one.head, one.end] = self._read_title(one)
        return title

    def _read_title(self, one: Declaration) -> str:
        head = self._text[one.head : min(one.end, one.head + 3_000)]
        if one.kind == "macro":
            head = head.partition("\n")[0].rstrip(" \\")
        elif one.kind not in ("alias", "variable"):
            brace = head.find("{")
            while brace > 0 and head.count("(", 0, brace) > head.count(")", 0, brace):
                brace = head.find("{", brace + 1)
            head = head[:brace] if brace > 0 else head
        if "/" in head:
            head = _COMMENT.sub(" ", head)
        head = " ".join(head.split())
        if len(head) > _TITLE and head.startswith("template"):
            head = f"template <...> {head[template_end(head) :].lstrip()}"
        return head[:_TITLE]


def _document(path: str, text: str) -> ChunkedFile:
    """Split a text with headings: one chunk per section."""
    lines = Lines(text)
    heads = list(_HEADING.finditer(text))
    chunks = []
    bounds = [0, *(head.start() for head in heads if head.start() > 0), len(text)]
    for start, end in pairwise(bounds):
        section = text[start:end]
        if not section.strip():
            continue
        title = section.lstrip().splitlines()[0].strip("# ").strip()[:_TITLE]
        line = lines.at(start)
        chunks.append(
            Chunk(
                kind="doc", name=title, line=line, last=max(line, lines.at(end) - 1), title=title,
                note="", **_words(terms(title), terms(path), terms(section)),
            )
        )  # fmt: skip
    return ChunkedFile(path, count_lines(text), chunks, [])


def _is_apart(member: Declaration) -> bool:
    """Whether a member of a large class becomes a chunk of its own."""
    large = member.last - member.line > SMALL_MEMBER
    return large and member.body and member.kind in ("function", "struct")


def _licence_end(text: str) -> int:
    """The offset behind the licence header; 0 if there is none."""
    first = _BLOCK_COMMENT.match(text)
    said = first.group() if first else ""
    return len(said) if "Copyright" in said or "Redistribution" in said else 0


class _Words(TypedDict):
    names: str
    about: str
    code: str
    named: int
    used: int


def _words(names: set[str], about: set[str], code: set[str]) -> _Words:
    return _Words(
        names=" ".join(names), about=" ".join(about), code=" ".join(code),
        named=len(names), used=len(code),
    )  # fmt: skip
