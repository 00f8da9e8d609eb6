"""Lines and records of CSV that is mixed with other output and may be cut or damaged anywhere.

A record is trusted only if its quotes are in order: a row in which something else was printed is
refused, because its cells may have moved to other columns.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from typing import NamedTuple, TextIO

LONGEST_LINE = 4 * 1024 * 1024
"""Characters of the longest line that is read; `--set full` prints lines of some 130,000."""
MOST_LINES = 20_000_000
"""Lines that are read of one report, other output included."""
MOST_JOINED = 16
"""Lines that one record may span because a quoted cell holds line breaks."""

RecordCheck = Callable[[int, bool], bool]
"""Whether a record may have this number of cells; the second argument says if the input ends
there."""


class ReplayableLines:
    """The lines of a stream that can be put back; lines that are too long are skipped and
    counted."""

    def __init__(self, stream: TextIO) -> None:
        self._fresh = self._read(stream)
        self._again: list[str] = []
        self.too_long = 0
        self.too_many = False

    def __iter__(self) -> Iterator[str]:
        while True:
            while self._again:
                yield self._again.pop()
            for line in self._fresh:
                yield line
                if self._again:
                    break
            else:
                return

    def put_back(self, lines: list[str]) -> None:
        self._again.extend(reversed(lines))

    def _read(self, stream: TextIO) -> Iterator[str]:
        read = stream.readline
        for _ in range(MOST_LINES):
            line = read(LONGEST_LINE)
            if not line:
                return
            if len(line) < LONGEST_LINE or line[-1] == "\n":
                yield line
                continue
            self.too_long += 1
            while line and line[-1] != "\n":
                line = read(LONGEST_LINE)
        self.too_many = bool(read(1))


class Record(NamedTuple):
    """The complete cells of one record; `ended` if the input ends with it, perhaps too early."""

    cells: list[str]
    ended: bool


def read_record(
    line: str, lines: ReplayableLines, *, delimiter: str, fits: RecordCheck
) -> Record | None:
    """Read the record that starts with `line`, and further `lines` while a quote is open.

    Returns None if it cannot be trusted; then only `line` is consumed.
    """
    text, taken = line, list[str]()
    if line.count('"') % 2:
        for more in lines:
            taken.append(more)
            text += more
            if more.count('"') % 2 or len(taken) == MOST_JOINED or len(text) > LONGEST_LINE:
                break
    record = _split(text, delimiter)
    if record is not None and fits(len(record.cells), record.ended):
        return record
    lines.put_back(taken)
    return None


def split_line(line: str, delimiter: str) -> list[str]:
    """The cells of one complete line; empty if its quotes are not in order."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def _split(text: str, delimiter: str) -> Record | None:
    ended = not text.endswith("\n")
    open_quote = text.count('"') % 2 == 1
    if open_quote and not ended:
        return None
    cells = split_line(text + '"' if open_quote else text, delimiter)
    if not cells:
        return None
    whole_last = not ended or (text.endswith('"') and not open_quote)
    return Record(cells if whole_last else cells[:-1], ended)
