"""The structure of a C++ file: what it declares, where, and with which comment above.

One pass over braces, semicolons, comments, strings and preprocessor lines; bodies of functions are
skipped. If both branches of an ``#if`` open a brace, the second branch starts at the depth of the
first, so that the file stays balanced.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from cutlass_search.index.declarators import Declarator, Kind, classify
from cutlass_search.index.source_text import Lines, clean_comment

_SKIPPED = (
    r"//[^\n]*"
    r"|/\*[^*]*(?:\*(?!/)[^*]*)*(?:\*/)?"
    r'|"(?:(?<=R")(?P<{0}>[^(\s"]{{0,16}})\([\s\S]*?\)(?P={0})|[^"\\\n]*(?:\\.[^"\\\n]*)*)"?'
    r"|'(?:[^'\\\n]|\\.[^'\n]{{0,8}})'"
    r"|\#[^\n\\]*(?:\\[\s\S][^\n\\]*)*"
)
# Every alternative starts with a character of its own, so that `re` can skip to the next one.
_EVENT = re.compile(_SKIPPED.format("a") + r"|\{|\}|;")
_IN_BODY = re.compile(_SKIPPED.format("b") + r"|\{|\}")
_COMMENT = re.compile(r"//[^\n]*|/\*[^*]*(?:\*(?!/)[^*]*)*(?:\*/)?")
_SPACE_AND_COMMENT = re.compile(rf"(\s*)({_COMMENT.pattern})?")
_BRANCH = re.compile(r"#\s*(if|el|endif)")
_ALONE = re.compile(r"#\s*(?:include|define|pragma|undef|error)")
_DEFINE = re.compile(r"#\s*define\s+(\w+)")
_ENUMERATOR = re.compile(r"(?:^|,)\s*(\w+)\s*(?==|,|$)")
_CONTINUED = re.compile(r"\s*[,{]")
_MOST_COMMENT = 1_200
_MOST_NOTE = 240


class Comment(NamedTuple):
    """The comment above a declaration, and its last block in one line (the note)."""

    text: str
    note: str


_NO_COMMENT = Comment("", "")


@dataclass(slots=True)
class Declaration:
    """Something declared at file, namespace or class scope.

    start, head and end: the offsets of its comment, of its first word and behind its last
    character; first, line and last: the lines of these, from 1. scope: the names around it, joined
    by ``::``. comment and note: see `Comment`. body: False for a forward declaration; special: a
    specialisation of a class template. members: those of a class.
    """

    kind: Kind
    name: str
    scope: str
    start: int
    head: int
    end: int
    first: int
    line: int
    last: int
    comment: str
    note: str
    body: bool
    special: bool
    members: list[Declaration] = field(default_factory=list)
    enumerators: tuple[str, ...] = ()

    @property
    def qualified(self) -> str:
        """The name with the scope in front."""
        return f"{self.scope}::{self.name}" if self.scope else self.name


@dataclass(slots=True)
class _Open:
    """A namespace or class whose end was not seen yet; its declarations go into `found`."""

    declaration: Declaration | None
    scope: str
    found: list[Declaration]


def declarations(text: str, *, start: int = 0, members: bool = True) -> list[Declaration]:
    """The declarations in `text` from `start` on, in order; members are inside of their class.

    members: look into classes; otherwise they are skipped as functions are.
    """
    return _Scan(text, start, members).run()


class _Scan:
    def __init__(self, text: str, start: int, members: bool) -> None:
        self._text = text
        self._lines = Lines(text)
        self._members = members
        self._found: list[Declaration] = []
        self._open: list[_Open] = []
        self._branches: list[int] = []
        self._head = self._first = start

    def run(self) -> list[Declaration]:
        text, at = self._text, self._first
        while event := _EVENT.search(text, at):
            start, at = event.span()
            sign = text[start]
            if sign == "{":
                at = self._opened(start, at)
            elif sign == "}":
                self._closed(at)
            elif sign == ";":
                self._declared(start, at)
            elif sign == "#":
                self._preprocessed(event.group(), start, at)
            elif sign == "/" and self._trails(start):
                self._head = at
        while self._open:
            self._closed(len(text))
        return self._found

    def _trails(self, start: int) -> bool:
        """Whether a comment trails the declaration before it, on the same line."""
        gap = self._text[self._head : start]
        return self._head > self._first and not gap.strip() and "\n" not in gap

    def _opened(self, start: int, at: int) -> int:
        code, head_at, comment = self._split(start)
        if code.count("(") > code.count(")"):
            return self._skip(at)
        head = classify(code)
        if head is not None and (
            head.kind == "namespace" or (head.kind == "struct" and self._members)
        ):
            self._enter(head, head_at, at, comment)
            return at
        end = self._end_by_indent(head_at, at) or self._skip(at)
        if head is not None and head.kind == "function":
            while found := _CONTINUED.match(self._text, end):
                brace = self._text.find("{", found.end() - 1)
                if brace < 0 or (found.end() - 1 < brace and ";" in self._text[end:brace]):
                    break
                end = self._skip(brace + 1)
        if head is not None:
            names = self._enumerators(at, end) if head.kind == "enum" else ()
            self._add(head, head_at, end, comment, body=True, enumerators=names)
            if head.kind == "variable":
                return end
        elif code.strip() and "=" in code:
            return end
        self._head = end
        return end

    def _enter(self, head: Declarator, head_at: int, at: int, comment: Comment) -> None:
        declaration, found = None, self._into()
        if head.kind == "struct":
            declaration = self._add(head, head_at, at, comment, body=True)
            found = declaration.members
        inner = "::".join(part for part in (self._scope(), head.name) if part)
        self._open.append(_Open(declaration, inner, found))
        self._head = at

    def _closed(self, at: int) -> None:
        if self._open:
            ended = self._open.pop().declaration
            if ended is not None:
                ended.end, ended.last = at, self._lines.at(at)
        self._head = at

    def _declared(self, start: int, at: int) -> None:
        if self._open and self._open[-1].declaration and not self._may_be_function(start):
            self._head = at
            return
        code, head_at, comment = self._split(start)
        self._head = at
        if code.strip() and (head := classify(code)) and head.kind != "namespace":
            body = head.kind in ("alias", "variable", "concept")
            self._add(head, head_at, at, comment, body=body)

    def _preprocessed(self, line: str, start: int, at: int) -> None:
        if found := _DEFINE.match(line):
            comment = self._split(start)[2]
            self._add(Declarator("macro", found[1]), start, at, comment, body=True)
        elif found := _BRANCH.match(line):
            if found[1] == "if":
                self._branches.append(len(self._open))
            elif self._branches:
                depth = self._branches[-1]
                if found[1] == "endif":
                    self._branches.pop()
                else:
                    while len(self._open) > depth:
                        self._closed(start)
        gap = self._text[self._head : start]
        if not gap.strip() or (_ALONE.match(line) and not _COMMENT.sub("", gap).strip()):
            self._head = at

    def _add(
        self,
        head: Declarator,
        head_at: int,
        end: int,
        comment: Comment,
        *,
        body: bool,
        enumerators: tuple[str, ...] = (),
    ) -> Declaration:
        start = min(self._head, head_at)
        start = head_at if not comment.text else self._text.find("/", start, head_at + 1)
        start = start if start >= 0 else head_at
        line_at = self._lines.at
        one = Declaration(
            kind=head.kind, name=head.name, scope=self._scope(),
            start=start, head=head_at, end=end,
            first=line_at(start), line=line_at(head_at), last=line_at(end),
            comment=comment.text, note=comment.note,
            body=body, special=head.special, enumerators=enumerators,
        )  # fmt: skip
        self._into().append(one)
        return one

    def _scope(self) -> str:
        return self._open[-1].scope if self._open else ""

    def _into(self) -> list[Declaration]:
        return self._open[-1].found if self._open else self._found

    def _may_be_function(self, end: int) -> bool:
        """Whether a member that ends in a semicolon may be a function, not a field or an alias."""
        bracket = self._text.find("(", self._head, end)
        return bracket >= 0 and self._text.find("=", self._head, bracket) < 0

    def _end_by_indent(self, head_at: int, at: int) -> int | None:
        """Where the body ends, if a brace below the head's first word closes it.

        This saves looking at every brace of well-indented code. None if the number of braces shows
        that the indentation is misleading.
        """
        text = self._text
        line = text.rfind("\n", 0, head_at) + 1
        indent = text[line:head_at]
        line_end = text.find("\n", at)
        if indent.strip() or line_end < 0 or "}" in text[at:line_end]:
            return None
        end = text.find(f"\n{indent}}}", line_end)
        if end < 0 or text.count("{", at, end) != text.count("}", at, end):
            return None
        return end + len(indent) + 2

    def _skip(self, at: int) -> int:
        """The offset behind the brace that closes the one that ends at `at`."""
        text, depth = self._text, 1
        branches: list[int] = []
        while event := _IN_BODY.search(text, at):
            start, at = event.span()
            sign = text[start]
            if sign == "{":
                depth += 1
            elif sign == "}":
                depth -= 1
                if depth <= 0:
                    return at
            elif sign == "#" and (found := _BRANCH.match(text, start)):
                if found[1] == "if":
                    branches.append(depth)
                elif branches:
                    if found[1] == "endif":
                        branches.pop()
                    else:
                        depth = branches[-1]
        return len(text)

    def _split(self, end: int) -> tuple[str, int, Comment]:
        """The code of the head that ends at `end`, its offset, and the comment in front of it."""
        text, at = self._text, self._head
        head = text[at:end]
        if "/" not in head and "#" not in head:
            return head, end - len(head.lstrip()), _NO_COMMENT
        block = 0
        comments: list[str] = []
        while found := _SPACE_AND_COMMENT.match(text, at, end):
            space, comment = found.groups()
            if space.count("\n") > 1:
                block = len(comments)
            at = found.end()
            if comment:
                comments.append(comment)
            elif text.startswith("#", at, end):
                line = _EVENT.match(text, at, end)
                at = line.end() if line else at + 1
            else:
                break
        code = text[at:end]
        if "/" in code:
            code = _COMMENT.sub(" ", code)
        return code, at, _comment(comments, block) if comments else _NO_COMMENT

    def _enumerators(self, at: int, end: int) -> tuple[str, ...]:
        inner = _COMMENT.sub(" ", self._text[at : end - 1])
        return tuple(_ENUMERATOR.findall(inner))


def _comment(comments: list[str], block: int) -> Comment:
    """The words of `comments`; the last block starts at `block`."""
    text = clean_comment(comments)[-_MOST_COMMENT:]
    note = text if block == 0 else clean_comment(comments[block:])
    return Comment(text, " ".join(note[:_MOST_NOTE].split()))
