"""Markdown from texts that anybody may have written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mcts.text import one_line, replace_unseen

_SPECIAL = re.compile(r"[\\`*<>\[\]|~#]|(?<![^\W_])_|_(?![^\W_])")
_LONGEST = 400
_ROWS_AT_ONCE = 8


def line(text: str) -> str:
    """One line without control characters and marks that turn the direction of writing."""
    shown = replace_unseen(text, lambda char: " " if char.isspace() else "")
    return one_line(shown, _LONGEST, mark="…")


def plain(text: str) -> str:
    """Text that stands for itself: no markup, no mention of a person, no HTML."""
    escaped = _SPECIAL.sub(lambda found: f"\\{found[0]}", line(text))
    return escaped.replace("@", "&#64;")


def code(text: str) -> str:
    """A code span, also of text with backticks, and within a table."""
    shown = line(text).replace("|", "\\|")
    if not shown:
        return ""
    fence = "`" * (max((len(run) for run in re.findall(r"`+", shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def codes(texts: Iterable[str]) -> str:
    """Code spans with commas between."""
    return ", ".join(code(text) for text in texts)


def table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()
) -> str:
    """A table of cells that are Markdown already, without columns that are empty in all rows;
    columns in `right` are set to the right. Empty if there are no rows.
    """
    cells = [list(row) for row in rows]
    shown = [at for at in range(len(titles)) if any(row[at] for row in cells)]
    if not shown:
        return ""
    lines = [
        [titles[at] for at in shown],
        ["---:" if titles[at] in right else "---" for at in shown],
        *([row[at] for at in shown] for row in cells),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def folded(text: str, rows: int, what: str) -> str:
    """A long table behind a line that opens it, where Markdown is shown as GitHub does."""
    if rows <= _ROWS_AT_ONCE:
        return text
    return f"<details>\n<summary>{rows} {what}s</summary>\n\n{text}\n\n</details>"
