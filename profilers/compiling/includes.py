"""What a candidate may include: CUDA's own headers, by relative names, and nothing else.

NVRTC opens whatever file an `#include` names, and its log then quotes that file. So the source is
checked before a compiler sees it. The check recognises directives in all their spellings (comments
and line splices inside, digraphs, trigraphs), also in comments and strings: accepting a bad include
would be worse than refusing a comment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_START = re.compile(r"(?P<hash>\#|%:)|\b__has_(?:include_next|include|embed)\b")
_KEYWORD = re.compile(r"(?:include_next|include|import|embed)\b")
_DEFINE = re.compile(r"define\b")
_WORD = re.compile(r"(?P<name>[^\W\d]\w*)(?P<call>(?:\s|/\*[^*]*\*/)*\()?")
_FILE = re.compile(r"""<[^>\n]*>|"[^"\n]*"|[^\n]{0,200}""")
_NAME = re.compile(r"""[<"]\w[\w+-]*(?:[./][\w+-]+)*[>"]""", re.ASCII)
_IS_DEFINED = re.compile(r"(?:ifn?def|defined\s*\(?)\s*$")
_SPACE = re.compile(r"\s*")
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
    for define in _DEFINE.finditer(source):
        if word := _WORD.match(source, _past_gap(source, define.end())):
            macros.add(word["name"])
    for start in _START.finditer(source):
        name = _included(source, start, macros) if start["hash"] else _asked(source, start)
        if name is not None and not _NAME.fullmatch(name):
            return name
    macros_of_headers = map(_HEADER_MACRO.search, (source, *macros))
    return next((found.group() for found in macros_of_headers if found), None)


def _included(source: str, start: re.Match[str], macros: set[str]) -> str | None:
    """What the directive at `start` includes, as written; None if it includes nothing."""
    at = _past_gap(source, start.end())
    keyword = _KEYWORD.match(source, at)
    if keyword is None:
        return "/* ... */" if source.startswith("/*", at) else None
    name = _operand(source, keyword.end())
    word = _WORD.match(name)
    macro = word is not None and (word["call"] is not None or word["name"] in macros)
    return name if macro or name.startswith(("<", '"', "/*")) else None


def _asked(source: str, start: re.Match[str]) -> str | None:
    """The file that the `__has_include` at `start` tests for; None for ``#ifdef __has_include``."""
    at = _past_gap(source, start.end())
    if source.startswith("(", at):
        return _operand(source, at + 1)
    before = source[max(0, start.start() - 40) : start.start()]
    return None if _IS_DEFINED.search(before) else start.group()


def _operand(source: str, at: int) -> str:
    found = _FILE.match(source, _past_gap(source, at))
    return found.group() if found else ""


def _past_gap(source: str, at: int) -> int:
    """The end of white space and comments from `at` on; or the start of a comment that does not
    end, or of one after too many others."""
    for passed in range(_MOST_COMMENTS + 1):
        space = _SPACE.match(source, at)
        at = space.end() if space else at
        if passed == _MOST_COMMENTS or not source.startswith("/*", at):
            break
        end = source.find("*/", at + 2)
        if end < 0:
            break
        at = end + 2
    return at
