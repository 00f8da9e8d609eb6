"""A compiler's log, condensed to what helps to repair the source.

Template code fails deep in a library, under a long chain of instantiations. What is kept: the first
error; the steps at both ends of its chain; the line of the candidate's own file that began it, with
its text; and one line for each further error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from profilers.host.nvcc_output import LONGEST_LINE, Diagnostic, diagnostics

CONDENSED_CAP = 4000
_LONGEST_TEXT = 600
_LONGEST_NAME = 160
_MOST_ERRORS = 6
_MOST_WARNINGS = 8
_DEPTH = 2
_FUNCTION = re.compile(r" in (?:the )?function '[^']{0,4000}'?")
_RESOURCES = re.compile(
    r"\w+: (?:Compiling entry function|Function properties for|Used \d|Compile time ="
    r"|Overriding|\d+ bytes)"
)


def condensed_errors(log: str, sources: Mapping[str, str], folders: Sequence[str] = ()) -> str:
    """The errors of `log`; `sources` are our own files by name, the candidate's first, `folders`
    the include folders, which are left out of paths. Empty if there is no error.
    """
    found = [one for one in diagnostics(log.splitlines()) if one.kind == "error"]
    if not found:
        return ""
    where = _FileNames(sources, folders)
    first = found[0]
    parts = [_first(first, where)]
    cause = _own_line(first, where)
    # Further errors below the same line of the candidate usually follow from the first.
    others = [one for one in found[1:] if cause is None or _own_line(one, where) != cause]
    rest = [text for text in dict.fromkeys(_line(one, where) for one in others)
            if text != _line(first, where)]  # fmt: skip
    if rest:
        parts += ["", "further errors:", *(f"- {text}" for text in rest[:_MOST_ERRORS])]
    if len(rest) > _MOST_ERRORS:
        parts.append(f"- and {len(rest) - _MOST_ERRORS} more")
    return _capped("\n".join(parts))


def condensed_warnings(log: str, sources: Mapping[str, str], folders: Sequence[str] = ()) -> str:
    """Warnings about the candidate's own lines, and ptxas's remarks on performance."""
    where = _FileNames(sources, folders)
    kept = []
    for one in diagnostics(log.splitlines()):
        if one.kind != "warning" or _RESOURCES.match(one.text):
            continue
        if not one.file:
            if "(C7" in one.text or "erformance" in one.text:
                kept.append(_FUNCTION.sub("", one.text)[:_LONGEST_TEXT])
        elif where.own(one.file) or any(where.own(file) for _, file, _ in one.chain):
            kept.append(_line(one, where))
    return _capped(
        "\n".join(f"warning: {text}" for text in [*dict.fromkeys(kept)][:_MOST_WARNINGS])
    )


class _FileNames:
    """Short names of files, and the text of the candidate's own."""

    def __init__(self, sources: Mapping[str, str], folders: Sequence[str]) -> None:
        self._lines = {name: text.splitlines() for name, text in sources.items()}
        self._folders = sorted((f"{folder.rstrip('/')}/" for folder in folders), key=len)[::-1]

    def own(self, file: str) -> str | None:
        name = file.rpartition("/")[2]
        return name if name in self._lines else None

    def whose(self, file: str) -> str:
        """What to call a line of our files, of which the candidate's own is the first."""
        first = next(iter(self._lines), None)
        return "your line" if self.own(file) == first else "the call that your plan describes"

    def short(self, file: str) -> str:
        if own := self.own(file):
            return own
        for folder in self._folders:
            if file.startswith(folder):
                return file.removeprefix(folder)
        return "/".join(file.split("/")[-3:])

    def text(self, file: str, line: int) -> str:
        """The line itself, if the file is ours; else an empty text."""
        lines = self._lines.get(self.own(file) or "", [])
        return lines[line - 1].strip()[:200] if 0 < line <= len(lines) else ""


def _first(error: Diagnostic, where: _FileNames) -> str:
    """An error in full: message, quoted line, chain, and the candidate's line that caused it."""
    lines = [_line(error, where)]
    quoted = error.quoted[:2] if not where.own(error.file) or len(error.quoted) > 1 else []
    lines += [f"    {shortened(text.strip(), 240)}" for text in quoted]
    chain = error.chain
    if chain:
        lines.append("instantiated from:")
        lines += [f"  {text}" for text in _steps(chain, where)]
    own = _own_line(error, where)
    if own is not None and (text := where.text(*own)):
        lines.append(f"{where.whose(own[0])}: {where.short(own[0])}:{own[1]}: {text}")
    if error.notes:
        lines.append(f"({error.notes} notes left out)")
    return "\n".join(lines)


def _own_line(error: Diagnostic, where: _FileNames) -> tuple[str, int] | None:
    """The line of our own files at which the error occurred, or was instantiated from."""
    places = [(error.file, error.line), *((file, line) for _, file, line in error.chain)]
    candidates = [place for place in places if where.whose(place[0]) == "your line"]
    # Of the lines generated from the plan, the outermost is the call.
    made = [place for place in places if where.own(place[0])][::-1]
    return next(iter([*candidates, *made]), None)


def _steps(chain: Sequence[tuple[str, str, int]], where: _FileNames) -> list[str]:
    """The innermost step, and those from the first in our own files outwards."""
    own = [i for i, (_, file, _) in enumerate(chain) if where.own(file)]
    shown = sorted({0, *own[:3]})
    lines, last = [], -1
    for i in shown:
        if i - last > 1:
            lines.append(f"... {i - last - 1} more in between")
        name, file, line = chain[i]
        lines.append(f"{shortened(name, _LONGEST_NAME)} at {where.short(file)}:{line}")
        last = i
    if len(chain) - 1 > last:
        lines.append(f"... {len(chain) - 1 - last} more")
    return lines


def _line(one: Diagnostic, where: _FileNames) -> str:
    place = f"{where.short(one.file)}:{one.line}: " if one.file else ""
    return f"{place}{shortened(one.text, _LONGEST_TEXT)}"


def shortened(text: str, longest: int) -> str:
    """`text` with template arguments below the second level as ``<...>``, cut to `longest`."""
    if len(text) > longest:
        text = _flattened(text[:LONGEST_LINE])
    return text if len(text) <= longest else f"{text[: longest - 4]} ..."


def _flattened(text: str) -> str:
    out, depth = [], 0
    for at, sign in enumerate(text):
        opens = sign == "<" and at > 0 and (text[at - 1].isalnum() or text[at - 1] == "_")
        if opens:
            depth += 1
            out.append("<...>" if depth == _DEPTH + 1 else "" if depth > _DEPTH else sign)
        elif sign == ">" and depth and text[at - 1] not in "-=":
            out.append(sign if depth <= _DEPTH else "")
            depth -= 1
        elif depth <= _DEPTH:
            out.append(sign)
    return "".join(out)


def _capped(text: str) -> str:
    return text if len(text) <= CONDENSED_CAP else f"{text[: CONDENSED_CAP - 20]}\n[... cut short]"
