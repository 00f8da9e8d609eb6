"""What a candidate may include: CUDA's own headers, by relative names, and nothing else.

NVRTC opens whatever file an `#include` names, and its log then quotes that file. So the source is
checked before a compiler sees it. The check recognises directives in all their spellings (comments
and line splices inside, digraphs, trigraphs), also in comments and strings: accepting a bad include
would be worse than refusing a comment.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

_START = re.compile(r"(?P<hash>\#|%:)|\b__has_(?:include_next|include|embed)\b")
_KEYWORD = re.compile(r"(?:include_next|include|import|embed)\b")
_DEFINE = re.compile(r"define\b")
_WORD = re.compile(r"(?P<name>[^\W\d]\w*)(?P<call>(?:\s|/\*[^*]*\*/)*\()?")
_FILE = re.compile(r"""<[^>\n]{0,200}>|"[^"\n]{0,200}"|[^\n]{0,200}""")
_NAME = re.compile(r"""[<"]\w[\w+-]*(?:[./][\w+-]+)*[>"]""", re.ASCII)
_IS_DEFINED = re.compile(r"(?:ifn?def|defined\s*\(?)\s*$")
_SPACE = re.compile(r"\s*")
_END = re.compile(r"\*/")
_MOST_COMMENTS = 8
# Thrust's headers include whatever these macros name.
_HEADER_MACRO = re.compile(r"\b__THRUST_(?:HOST|DEVICE)_SYSTEM_\w+")
_TRIGRAPHS = (("??=", "#"), ("??/", "\\"))


def forbidden_include(source: str, options: Sequence[str] = ()) -> str | None:
    """The first forbidden file that `source` includes or tests for; None if there is none.

    Allowed are names such as ``<cuda_fp16.h>`` or ``<cuda/std/limits>``: no absolute path, no
    ``..``, no macro in place of a name. Macros are what the source or `options` define, and
    whatever is called like a function; other words, as in a plan's comment, name no file.
    """
    for written, meant in _TRIGRAPHS:
        source = source.replace(written, meant)
    source = re.sub(r"\\[ \t\v\f\r]*\n", "", source)
    macros = {option.removeprefix("-D").partition("=")[0] for option in options}
    gaps = _Gaps(source)
    for define in _DEFINE.finditer(source):
        if word := _WORD.match(source, gaps.past(define.end())):
            macros.add(word["name"])
    for start in _START.finditer(source):
        name = _included(gaps, start, macros) if start["hash"] else _asked(gaps, start)
        if name is not None and not _NAME.fullmatch(name):
            return name
    macros_of_headers = map(_HEADER_MACRO.search, (source, *macros))
    return next((found.group() for found in macros_of_headers if found), None)


def _included(gaps: _Gaps, start: re.Match[str], macros: set[str]) -> str | None:
    """What the directive at `start` includes, as written; None if it includes nothing."""
    source, at = gaps.source, gaps.past(start.end())
    keyword = _KEYWORD.match(source, at)
    if keyword is None:
        return "/* ... */" if source.startswith("/*", at) else None
    name = _operand(gaps, keyword.end())
    word = _WORD.match(name)
    macro = word is not None and (word["call"] is not None or word["name"] in macros)
    return name if macro or name.startswith(("<", '"', "/*")) else None


def _asked(gaps: _Gaps, start: re.Match[str]) -> str | None:
    """The file that the `__has_include` at `start` tests for; None for ``#ifdef __has_include``."""
    source, at = gaps.source, gaps.past(start.end())
    if source.startswith("(", at):
        return _operand(gaps, at + 1)
    before = source[max(0, start.start() - 40) : start.start()]
    return None if _IS_DEFINED.search(before) else start.group()


def _operand(gaps: _Gaps, at: int) -> str:
    found = _FILE.match(gaps.source, gaps.past(at))
    return found.group() if found else ""


class _Gaps:
    """White space and comments of a source. The ends of comments are looked up, not searched: a
    source may open a hundred thousand.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._ends = [found.end() for found in _END.finditer(source)]

    def past(self, at: int) -> int:
        """The end of white space and comments from `at` on; or the start of a comment that does not
        end, or of one after too many others."""
        for passed in range(_MOST_COMMENTS + 1):
            space = _SPACE.match(self.source, at)
            at = space.end() if space else at
            if passed == _MOST_COMMENTS or not self.source.startswith("/*", at):
                break
            following = bisect_left(self._ends, at + 4)
            if following == len(self._ends):
                break
            at = self._ends[following]
        return at
