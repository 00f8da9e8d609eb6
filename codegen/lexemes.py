"""Comments and literals of CUDA C++, found in linear time whatever the text is."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Literal, NamedTuple

_START = re.compile(r"""//[^\n]*|/\*|R"(?P<mark>[^()\\\s"]{0,16})\(|"|'""")
_QUOTED = {
    '"': re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*', re.DOTALL),
    "'": re.compile(r"'[^'\\\n]*(?:\\.[^'\\\n]*)*", re.DOTALL),
}
_RAW_END = re.compile(r'\)(?P<mark>[^()\\\s"]{0,16})"')


class Lexeme(NamedTuple):
    """`source[start:end]` is a comment, or the text of a string or a character."""

    kind: Literal["comment", "text"]
    start: int
    end: int


def lexemes(source: str) -> Iterator[Lexeme]:
    """The comments and literals of a source, in order.

    What opens one that is never closed counts as a single character, as an apostrophe between
    digits does. Where a search was in vain is kept, so that no stretch is searched twice.
    """
    ends = _Ends(source)
    at = 0
    while found := _START.search(source, at):
        start = found.start()
        if source.startswith("//", start):
            kind, end = "comment", found.end()
        elif source.startswith("/*", start):
            kind, end = "comment", ends.of_comment(found.end())
        elif found["mark"] is not None:
            kind, end = "text", ends.of_raw(found["mark"], found.end())
        else:
            kind, end = "text", ends.of_quoted(start)
        if end:
            yield Lexeme("comment" if kind == "comment" else "text", start, end)
        at = end or start + 1


class _Ends:
    """Where what was opened ends; 0 if it does not."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._last_comment = source.rfind("*/")
        self._in_vain = dict.fromkeys(_QUOTED, 0)
        self._raw: dict[str, list[int]] | None = None

    def of_comment(self, at: int) -> int:
        return self._source.find("*/", at) + 2 if at <= self._last_comment else 0

    def of_quoted(self, start: int) -> int:
        """Behind a quote without its like on the line all others are escaped: none of them opens
        anything either.
        """
        quote = self._source[start]
        if start < self._in_vain[quote]:
            return 0
        found = _QUOTED[quote].match(self._source, start)
        end = found.end() if found else start + 1
        if self._source.startswith(quote, end):
            return end + 1
        self._in_vain[quote] = end
        return 0

    def of_raw(self, mark: str, at: int) -> int:
        if self._raw is None:
            self._raw = {}
            for found in _RAW_END.finditer(self._source):
                self._raw.setdefault(found["mark"], []).append(found.start())
        places = self._raw.get(mark, [])
        first = bisect_left(places, at)
        return places[first] + len(mark) + 2 if first < len(places) else 0
