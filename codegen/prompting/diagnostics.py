"""A compiler's log in brief: the first errors, each with the source line that it points to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codegen.prompting.untrusted import clean_log, shortened
from mcts.domain.python_source import parse_module

MAX_ERRORS = 8
LONGEST_LOG = 4000
_LONGEST_LINE = 300
_DETAIL_LINES = 4
_PLACED = re.compile(
    r"^(?P<file>[^\s():][^():\n]{0,200}?)(?:\((?P<line>\d{1,7})\)|:(?P<gnu>\d{1,7})(?::\d+)?)\s*:\s*"
    r"(?:catastrophic |fatal )?(?P<kind>error|warning|remark|note|info)\b"
)
_UNPLACED = re.compile(r"^(?:ptxas|nvcc|nvlink|ld|collect2|nvrtc)\b.*\b(?:error|fatal)\b", re.I)
_PYTHON_LINE = re.compile(r"\bline (\d{1,7})\b")
_NAMED = re.compile(r'"([A-Za-z_]\w*)"')


@dataclass(frozen=True, slots=True)
class _Diagnostic:
    line: int | None
    text: list[str]


def condensed_log(log: str, source: str) -> str:
    """The first errors of `log` with the lines of `source` they point to; where none is
    recognised, the log's head and tail.
    """
    log = clean_log(log)
    errors = list(_errors(log.splitlines()))
    if not errors:
        return _with_python_line(shortened(log.strip(), longest=LONGEST_LOG), source)
    texts = _texts(source)
    shown = [_shown(error, texts) for error in errors[:MAX_ERRORS]]
    if len(errors) > MAX_ERRORS:
        shown.append(f"... and {len(errors) - MAX_ERRORS} more errors")
    return shortened("\n".join(shown), longest=LONGEST_LOG)


def _errors(lines: Sequence[str]) -> Iterator[_Diagnostic]:
    """Errors in order, each once, with the lines that explain it."""
    seen: set[str] = set()
    for at, line in enumerate(lines):
        placed = _PLACED.match(line)
        if not (placed and placed["kind"] == "error") and not _UNPLACED.match(line):
            continue
        if line in seen:
            continue
        seen.add(line)
        details = []
        for following in lines[at + 1 : at + 1 + _DETAIL_LINES]:
            if not following[:1].isspace():
                break
            if following.strip(" ^~\t"):
                details.append(following.rstrip()[:_LONGEST_LINE])
        number = (placed["line"] or placed["gnu"]) if placed else None
        yield _Diagnostic(int(number) if number else None, [line[:_LONGEST_LINE], *details])


def _shown(error: _Diagnostic, texts: Sequence[list[str]]) -> str:
    lines = list(error.text)
    pointed = _line_of(error, texts)
    if pointed and not any(pointed.strip() in line for line in lines[1:]):
        lines.append(f"    {error.line} | {pointed.rstrip()[:_LONGEST_LINE]}")
    return "\n".join(lines)


def _line_of(error: _Diagnostic, texts: Sequence[list[str]]) -> str | None:
    """The line meant; of several sources the one where it holds a name that the error quotes."""
    if error.line is None:
        return None
    found = [text[error.line - 1] for text in texts if 1 <= error.line <= len(text)]
    names = _NAMED.findall(error.text[0])
    quoting = [line for line in found if any(name in line for name in names)]
    return next(iter(quoting or found), None)


def _texts(source: str) -> list[list[str]]:
    """The lines of the CUDA strings in a Python file, or of the source itself."""
    return [text.splitlines() for text in cuda_strings(source) or [source]]


def cuda_strings(source: str) -> list[str]:
    """CUDA sources that a Python file holds as strings; none where it is no Python."""
    try:
        tree = parse_module(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    texts = [_text_of(node) for node in ast.walk(tree) if isinstance(node, ast.expr)]
    return [text for text in texts if text is not None and "__global__" in text]


def _text_of(node: ast.expr) -> str | None:
    """What a string literal says; of an f-string with its expressions left blank."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(_text_of(part) or "" for part in node.values)
    return None


def _with_python_line(log: str, source: str) -> str:
    """A Python error with the line that it names, unless that is shown already."""
    found = _PYTHON_LINE.search(log)
    lines = source.splitlines()
    if found is None or not 1 <= int(found[1]) <= len(lines):
        return log
    line = lines[int(found[1]) - 1].strip()
    if not line or line in log:
        return log
    return f"{log}\n    {found[1]} | {line[:_LONGEST_LINE]}"
