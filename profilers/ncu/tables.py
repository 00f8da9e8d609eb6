"""The tables in the output of `ncu --csv`: headers, units and rows among other output.

The raw page has a column per metric and a row per launch; its second row holds the units. The
details page has a row per metric. Columns are found by name, so their order does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TextIO

from profilers.ncu.csv_records import MOST_LINES, ReplayableLines, read_record, split_line

MOST_ROWS = 250_000
"""Most rows that are read of one report: some 120 rows of the details page per launch."""
_COMPLAINTS = ("==ERROR==", "==WARNING==")
MOST_MESSAGES = 200
MESSAGE_LENGTH = 8192

SECTION, LABEL, UNIT, VALUE = "Section Name", "Metric Name", "Metric Unit", "Metric Value"
_RULES = ("Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type",
          "Estimated Speedup")  # fmt: skip
"""Columns of the details page that are empty in a row about a metric."""
_ID, _PROCESS = "ID", "Process ID"
_NAMES = ("Kernel Name", "Demangled Name", "Function Name")
LAUNCH_COLUMNS = frozenset(
    {_ID, _PROCESS, "Process Name", "Host Name", *_NAMES, "Kernel Time", "Context", "Stream",
     "Block Size", "Grid Size", "Device", "CC", "thread Domain:Push/Pop_Range:PL_Type:PL_Value",
     "Id:Domain:Start/Stop_Range:PL_Type:PL_Value"}
)  # fmt: skip
"""Columns of the raw page that hold facts of the launch, not metrics."""
_INDEX = re.compile(r"([0-9]{1,3}(?:[,.][0-9]{3}){1,5}|[0-9]{1,18})(?:\.0)?")


class Table:
    """A header, and the units of its columns once their row was seen."""

    def __init__(
        self, columns: Sequence[str], *, delimiter: str, quoted: bool, number: int
    ) -> None:
        self.columns, self.number = columns, number
        self.delimiter, self.quoted = delimiter, quoted
        self.units: list[str] | None = None
        self._at = {name: place for place, name in reversed(list(enumerate(columns)))}
        self.details = LABEL in self._at and VALUE in self._at
        self.name_column = next(name for name in _NAMES if name in self._at)
        needed = (_ID, self.name_column, LABEL, VALUE) if self.details else (_ID, self.name_column)
        self._least = 1 + max(self._at[name] for name in needed)
        self._bare_starts = f"0123456789{delimiter}"

    def cell(self, cells: Sequence[str], name: str) -> str | None:
        place = self._at.get(name)
        return cells[place].strip() if place is not None and place < len(cells) else None

    def unit(self, place: int) -> str | None:
        """The unit of a column of the raw page; None if the table does not say it."""
        units = self.units or []
        return units[place] if place < len(units) else None

    def fits(self, count: int, ended: bool) -> bool:
        """Whether a row may have `count` cells: all of them on a raw page, unless the input ends
        there."""
        if not self.details and not ended:
            return count == len(self.columns)
        return self._least <= count <= len(self.columns)

    def may_start(self, line: str) -> bool:
        """A quick check whether `line` may start a row: most lines are other output."""
        if self.quoted and line[0] != '"' and line[0] not in self._bare_starts:
            return False
        return line.count(self.delimiter) >= self._least - 1 or line.count('"') % 2 == 1


class Row(NamedTuple):
    """A row about one launch: its number in the report, process, kernel, and all cells."""

    table: Table
    number: int
    process: str
    kernel: str
    cells: list[str]

    def cell(self, name: str) -> str | None:
        return self.table.cell(self.cells, name)


class Tables:
    """Reads a stream once. `messages` are the tool's errors and warnings ("==ERROR== ...")."""

    def __init__(self, stream: TextIO) -> None:
        self._lines = ReplayableLines(stream)
        self._tried = 0
        self._damaged = 0
        self.found: list[Table] = []
        self.messages: list[str] = []

    def rows(self) -> Iterator[Row]:
        """Rows about launches, up to the caps."""
        table: Table | None = None
        for line in self._lines:
            if line.startswith(_COMPLAINTS):
                if len(self.messages) < MOST_MESSAGES:
                    self.messages.append(line[:MESSAGE_LENGTH].rstrip())
            elif "Name" in line and (header := self._header(line)):
                table = header
                self.found.append(header)
            elif table is not None and table.may_start(line):
                self._tried += 1
                if self._tried > MOST_ROWS:
                    return
                row = self._row(line, table)
                if row is not None:
                    yield row

    def unread(self) -> str | None:
        """What could not be read, in one sentence; None if everything was."""
        said = []
        if self._damaged:
            said.append(f"{self._damaged} rows of the table are damaged")
        if self._lines.too_long:
            said.append(f"{self._lines.too_long} lines are longer than a table's can be")
        if self._tried > MOST_ROWS:
            said.append(f"only the first {MOST_ROWS} rows were read")
        if self._lines.too_many:
            said.append(f"only the first {MOST_LINES} lines were read")
        return " and ".join(said) or None

    def _header(self, line: str) -> Table | None:
        line = line.removeprefix("\ufeff")
        for delimiter in (",", ";", "\t"):
            columns = split_line(line, delimiter)
            if _ID in columns and any(name in columns for name in _NAMES):
                return Table(
                    columns,
                    delimiter=delimiter,
                    quoted=line.startswith('"'),
                    number=len(self.found),
                )
        return None

    def _row(self, line: str, table: Table) -> Row | None:
        record = read_record(line, self._lines, delimiter=table.delimiter, fits=table.fits)
        if record is None:
            self._damaged += line.startswith('"')
            return None
        number = table.cell(record.cells, _ID)
        kernel = table.cell(record.cells, table.name_column)
        if not number and not kernel:
            table.units = table.units or [cell.strip() for cell in record.cells]
            return None
        index = _INDEX.fullmatch(number or "")
        if index is None or not kernel:
            return None
        if table.details and self._is_contradictory(record.cells, table):
            self._damaged += 1
            return None
        process = table.cell(record.cells, _PROCESS) or ""
        return Row(table, int(re.sub("[,.]", "", index[1])), process, kernel, record.cells)

    @staticmethod
    def _is_contradictory(cells: Sequence[str], table: Table) -> bool:
        """Whether a row is about a metric and a rule at once: a cell was split or has moved."""
        return bool(table.cell(cells, LABEL)) and any(table.cell(cells, one) for one in _RULES)
