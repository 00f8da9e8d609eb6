"""Tables for terminals of any width: names stand whole, and figures make room for them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

Kind = Literal["name", "words", "figure"]
_GAP = 2
"""Blanks between columns."""
_LEAST_WORDS = 14
"""Columns that a cell of several words keeps at least, where it has as many."""
_ENDLESS = 10_000


def width() -> int:
    """Columns to fill: the terminal's or COLUMNS; in a pipe or a file, lines are never cut."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return _ENDLESS


def print_table(table: Table) -> None:
    """Print `table` without the blanks at line ends that a copy would take along."""
    from rich.console import Console

    console = Console(width=width())
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


@dataclass(frozen=True, slots=True)
class Column:
    """A column by what it holds.

    kind: a `name` and a `figure` are never broken (a name only where it alone is wider than the
    terminal), `words` break at blanks, and so do all titles.
    spare: where room is short, columns are left out, the highest first; those with 0 never are.
    """

    title: str
    kind: Kind = "figure"
    spare: int = 0


@dataclass(frozen=True, slots=True)
class Fitted:
    """A table, and the titles of the columns for which there was no room."""

    table: Table
    left_out: tuple[str, ...]

    @property
    def note(self) -> str:
        """What is to be said about the columns that are missing; empty if none is."""
        if not self.left_out:
            return ""
        titles = ", ".join(self.left_out)
        return f"no room for: {titles} (a wider terminal, a pipe or --json shows all)"


Rows = Sequence[Sequence["str | Text"]]


def print_fitted(columns: Sequence[Column], rows: Rows) -> Fitted:
    """Print the table as wide as the output takes it, and below it what was left out."""
    found = fitted(columns, rows, width=width())
    show(found)
    return found


def show(*tables: Fitted) -> None:
    """Print tables, and then once what was left out of them."""
    for one in tables:
        print_table(one.table)
    for note in dict.fromkeys(one.note for one in tables if one.note):
        print(note)


def fitted(columns: Sequence[Column], rows: Rows, *, width: int, title: str = "") -> Fitted:
    """The table whose columns fit into `width`; rows hold a cell for each column."""
    from rich.table import Table

    least = _leasts(columns, rows)
    shown = _chosen(columns, least, width)
    whole = {at: _whole(columns[at], _cells(rows, at)) for at in shown}
    widths = _widened({at: least[at] for at in shown}, whole, columns, width)
    table = Table(box=None, pad_edge=False, title=title or None, title_justify="left")
    for at in shown:
        table.add_column(
            columns[at].title,
            justify="right" if columns[at].kind == "figure" else "left",
            overflow="fold",
            width=widths[at],
        )
    for row in rows:
        table.add_row(*(_text(row[at]) for at in shown))
    return Fitted(
        table, tuple(column.title for at, column in enumerate(columns) if at not in shown)
    )


def least_width(columns: Sequence[Column], rows: Rows) -> int:
    """Columns of a terminal on which all are shown, and nothing is broken but at blanks."""
    return _total(_leasts(columns, rows))


def _leasts(columns: Sequence[Column], rows: Rows) -> list[int]:
    return [_least(column, _cells(rows, at)) for at, column in enumerate(columns)]


def _chosen(columns: Sequence[Column], least: Sequence[int], width: int) -> list[int]:
    """Positions of the columns that find room, in their order."""
    shown = list(range(len(columns)))
    for at in sorted(shown, key=lambda at: -columns[at].spare):
        if _total(least[one] for one in shown) <= width or not columns[at].spare:
            break
        shown.remove(at)
    return shown


def _widened(
    least: dict[int, int], whole: dict[int, int], columns: Sequence[Column], width: int
) -> dict[int, int]:
    """Widths that fill `width` at most: words get room first, those that lack least, then titles.

    Where even the least is too much, the widest are narrowed, and fold.
    """
    widths = dict(least)
    left = width - _total(widths.values())
    for at in sorted(widths, key=lambda at: (columns[at].kind != "words", whole[at] - least[at])):
        more = min(max(left, 0), whole[at] - widths[at])
        widths[at] += more
        left -= more
    while left < 0 and max(widths.values()) > 1:
        widest = max(widths, key=lambda at: widths[at])
        widths[widest] -= 1
        left += 1
    return widths


def _least(column: Column, cells: Sequence[str]) -> int:
    """The width below which a word, or all of a name or a figure, would be broken."""
    broken = (column.title, *cells) if column.kind == "words" else (column.title,)
    longest = max((_cell_len(word) for text in broken for word in text.split()), default=0)
    widest = max(map(_cell_len, cells), default=0)
    return max(longest, min(widest, _LEAST_WORDS) if column.kind == "words" else widest)


def _whole(column: Column, cells: Sequence[str]) -> int:
    """The width at which nothing wraps."""
    return max(map(_cell_len, (column.title, *cells)), default=0)


def _total(widths: Iterable[int]) -> int:
    """Columns that so wide cells and the gaps between them fill."""
    each = list(widths)
    return sum(each) + _GAP * max(0, len(each) - 1)


def _cells(rows: Rows, at: int) -> list[str]:
    return [_text(row[at]).plain for row in rows]


def _text(cell: str | Text) -> Text:
    from rich.text import Text

    return cell if isinstance(cell, Text) else Text(cell)


def _cell_len(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)
