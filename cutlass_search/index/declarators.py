"""Declarators: the kind and the name that the head of a declaration declares.

A head is the text in front of a body or a semicolon, without comments. This is not a compiler: it
knows as much C++ as is needed to name what CUTLASS and CuTe declare, and returns None for the rest.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

Kind = Literal[
    "namespace", "struct", "enum", "function", "kernel", "alias", "variable", "concept", "macro"
]


class Declarator(NamedTuple):
    """`name` is without scope and template arguments; `special` says that it has such arguments,
    as a specialisation of a class does."""

    kind: Kind
    name: str
    special: bool = False


_LABEL = re.compile(r"\s*(?:public|private|protected)\s*:")
_ATTRIBUTE = re.compile(r"\[\[[^\]]*\]\]")
_STATEMENTS = ("static_assert", "CUTE_STATIC_ASSERT", "friend ", "using namespace", "return")
_NAMESPACE = re.compile(r"\s*(?:inline\s+)?namespace\s*(?P<name>[\w:]*)\s*$")
_LINKAGE = re.compile(r'\s*extern\s+"C(?:\+\+)?"\s*$')
_TYPE = re.compile(
    r"(?:^|[\s;>])(?P<key>struct|class|union|enum(?:\s+class|\s+struct)?)\s+"
    r"(?:(?:alignas\s*\((?:[^()]|\([^()]*\))*\)|__align__\s*\([^()]*\)|"
    r"__attribute__\s*\(\([^()]*\)\)|[A-Z][A-Z0-9_]*_(?:ALIGN|API|DEPRECATED)\b(?:\([^()]*\))?)\s*)*"
    r"(?P<name>(?:\w+\s*::\s*)*\w+)\s*(?P<rest>[<:{]|final\b|$)"
)
_ALIAS = re.compile(r"\s*using\s+(?P<name>\w+)\s*=")
_TYPEDEF = re.compile(r"\s*typedef\b.*?(?P<name>\w+)\s*(?:\[[^\]]*\]\s*)?$", re.DOTALL)
_CONCEPT = re.compile(r"\s*concept\s+(?P<name>\w+)\s*=")
_VARIABLE = re.compile(r"(?P<name>\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|$)")
_OPERATOR = re.compile(r"operator\s*(?:\(\s*\)|\[\s*\]|[^\s\w(]+|\s\w[\w:<>&* ]*)(?=\s*\()")
_FLAT = re.compile(r"<[^<>()]*(?<!-)>")
"""Angle brackets with no brackets inside, as most are."""
_BRACKET = re.compile(r"[<()]|(?<!-)>")
_ROUND = re.compile(r"[()]")
_WORDS = """
if for while switch return sizeof alignof decltype noexcept static_assert __launch_bounds__
alignas __align__ __attribute__ defined requires explicit catch asm __declspec typeof
__cluster_dims__ __maxnreg__ CUTE_STATIC_ASSERT CUTE_STATIC_ASSERT_V throw new delete
CUTLASS_UNUSED __grid_constant__
"""
_NOT_NAMES = frozenset(_WORDS.split())


@lru_cache(1 << 12)
def classify(head: str) -> Declarator | None:
    """The kind and name of what `head` declares; None for a statement or something unknown."""
    if "public" in head or "private" in head or "protected" in head:
        head = _LABEL.sub("", head)
    head = _without_templates(head)
    if "[[" in head:
        head = _ATTRIBUTE.sub(" ", head)
    if head.startswith(_STATEMENTS):
        return None
    if found := _NAMESPACE.match(head):
        return Declarator("namespace", found["name"])
    if _LINKAGE.match(head):
        return Declarator("namespace", "")
    if found := _ALIAS.match(head):
        return Declarator("alias", found["name"])
    if found := _CONCEPT.match(head):
        return Declarator("concept", found["name"])
    if head.lstrip().startswith("typedef"):
        found = _TYPEDEF.match(head)
        return Declarator("alias", found["name"]) if found else None
    named = "struct" in head or "class" in head or "union" in head or "enum" in head
    if named and (found := _TYPE.search(head)) and "(" not in head[: found.start()]:
        kind: Kind = "enum" if found["key"].startswith("enum") else "struct"
        return Declarator(kind, _last(found["name"]), found["rest"] == "<")
    return _function(head) or _variable(head)


def _function(head: str) -> Declarator | None:
    kind: Kind = "kernel" if "__global__" in head else "function"
    if "operator" in head and (found := _OPERATOR.search(head)):
        return Declarator(kind, " ".join(found.group().split()))
    at = head.find("(")
    while at > 0:
        name, before = _word_before(head, at)
        if name and name not in _NOT_NAMES:
            return None if "=" in head[:before] else Declarator(kind, name)
        # A call inside of the brackets of `__launch_bounds__(...)` is not what is declared.
        at = head.find("(", _bracket_end(head, at) if name else at + 1)
    return None


def _bracket_end(head: str, at: int) -> int:
    """The offset behind the parenthesis that closes the one at `at`."""
    depth = 0
    for found in _ROUND.finditer(head, at):
        depth += 1 if found.group() == "(" else -1
        if depth == 0:
            return found.end()
    return len(head)


def _word_before(head: str, at: int) -> tuple[str, int]:
    """The word that ends at `at`, without template arguments, and where it starts."""
    end = at
    while end > 0 and head[end - 1].isspace():
        end -= 1
    if end > 0 and head[end - 1] == ">":
        end = max(0, head.rfind("<", 0, end))
        while end > 0 and head[end - 1].isspace():
            end -= 1
    start = end
    while start > 0 and (head[start - 1].isalnum() or head[start - 1] == "_"):
        start -= 1
    if start > 0 and start < end and head[start - 1] == "~":
        start -= 1
    return head[start:end], start


def _variable(head: str) -> Declarator | None:
    if not head.lstrip().startswith(("static", "constexpr", "inline", "const", "__constant__")):
        return None
    found = _VARIABLE.search(head.split("=")[0])
    return Declarator("variable", found["name"]) if found else None


def template_end(head: str) -> int:
    """The offset behind the ``template <...>`` with which `head` starts."""
    start = head.find("<")
    return 8 if start < 0 or head[8:start].strip() else _closing(head, start)


def _without_templates(head: str) -> str:
    """`head` without the ``template <...>`` in front of it."""
    head = head.lstrip()
    while head.startswith("template"):
        head = head[template_end(head) :].lstrip()
    return head


def _closing(text: str, start: int) -> int:
    """The offset behind the angle bracket that closes the one at `start`."""
    if flat := _FLAT.match(text, start):
        return flat.end()
    depth = round_ = 0
    for found in _BRACKET.finditer(text, start):
        sign = found.group()
        if sign == "(":
            round_ += 1
        elif sign == ")":
            round_ -= 1
        elif round_ == 0:
            depth += 1 if sign == "<" else -1
            if depth == 0:
                return found.end()
    return len(text)


def _last(name: str) -> str:
    return name.rsplit("::", 1)[-1].strip()
