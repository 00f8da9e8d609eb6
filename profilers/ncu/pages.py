"""Read the output of `ncu --csv`, raw page or details page, with other output around it.

Columns and rows may be in any order, the text may be cut anywhere, tables may be repeated. Memory
is bounded whatever the size of the input. Nothing raises because of the text: the report says what
is missing.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TextIO

from mcts.domain import Metric
from profilers.kernel_names import bare_name
from profilers.ncu import tables
from profilers.ncu.messages import denied_metrics
from profilers.ncu.metrics import COLLECTED, LABELS
from profilers.ncu.report import (
    LAUNCHES,
    MOST_LAUNCHES,
    ROWS,
    Gaps,
    NcuKernel,
    NcuReport,
    empty_report,
)
from profilers.ncu.values import NotationDetector, read_value


class Parsed(NamedTuple):
    """A report, and the tool's own messages."""

    report: NcuReport
    messages: list[str]


def parse_csv(text: str, *, wanted: Iterable[str] = COLLECTED) -> NcuReport:
    """The launches in `text`, with those of the `wanted` metrics that can be read.

    `missing` names each wanted metric that some launch lacks, and what was left out.
    """
    return parse_stream(io.StringIO(text, newline=None), wanted=wanted).report


def parse_stream(stream: TextIO, *, wanted: Iterable[str] = COLLECTED) -> Parsed:
    """`parse_csv` of a stream with universal newlines."""
    found = tables.Tables(stream)
    launches = _LaunchCollector(tuple(dict.fromkeys(wanted)))
    left_out: dict[str, str] = {}
    for row in found.rows():
        if not launches.add_row(row):
            left_out[LAUNCHES] = f"only the first {MOST_LAUNCHES} launches were read"
            break
    if reason := found.unread():
        left_out[ROWS] = reason
    if not found.found:
        return Parsed(empty_report("ncu printed no table"), found.messages)
    report = launches.report(denied_metrics(found.messages))
    return Parsed(NcuReport(report.kernels, {**report.missing, **left_out}), found.messages)


class _Cell(NamedTuple):
    text: str
    unit: str | None
    place: int | None = None
    """Column of the raw page, whose unit may only be known later."""


@dataclass(slots=True)
class _Launch:
    kernel: str
    table: tables.Table
    number: int
    cells: dict[str, _Cell] = field(default_factory=dict)
    ambiguous: set[str] = field(default_factory=set)

    def add(self, name: str, cell: _Cell) -> bool:
        """Keep a cell; False if the metric already has another value."""
        kept = self.cells.setdefault(name, cell)
        return (kept.text, kept.unit) == (cell.text, cell.unit)


class _LaunchCollector:
    """Collects the cells of each launch; they are read at the end, when the notation is known."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self._order = wanted
        self._wanted = frozenset(wanted)
        self._places: dict[int, list[tuple[int, str]]] = {}
        self._all: list[_Launch] = []
        self._latest: dict[tuple[str, int, str], _Launch] = {}
        self._notation = NotationDetector()

    def add_row(self, row: tables.Row) -> bool:
        """Add a row; False if it would be one launch too many."""
        return self._add_details_row(row) if row.table.details else self._add_raw_row(row)

    def _add_raw_row(self, row: tables.Row) -> bool:
        launch = _Launch(row.kernel, row.table, row.number)
        for place, name in self._columns(row.table):
            if place < len(row.cells):
                cell = _Cell(row.cells[place], None, place)
                self._notation.observe(cell.text, ours=True)
                if not launch.add(name, cell):
                    launch.ambiguous.add(name)
        if self._notation.undecided:
            self._observe_other_columns(row)
        before = self._latest.get(_key(row))
        if before is not None and before.cells == launch.cells:
            return True
        return self._append(row, launch)

    def _add_details_row(self, row: tables.Row) -> bool:
        label, text = row.cell(tables.LABEL) or "", row.cell(tables.VALUE) or ""
        launch = self._latest.get(_key(row))
        if launch is None:
            launch = _Launch(row.kernel, row.table, row.number)
            if not self._append(row, launch):
                return False
        name = (
            label if label in self._wanted else LABELS.get((row.cell(tables.SECTION) or "", label))
        )
        if name not in self._wanted:
            if self._notation.undecided:
                self._notation.observe(text, ours=False)
            return True
        self._notation.observe(text, ours=True)
        cell = _Cell(text, row.cell(tables.UNIT))
        if launch.add(name, cell):
            return True
        if launch.table is row.table:
            launch.ambiguous.add(name)
            return True
        return self._append(row, _Launch(row.kernel, row.table, row.number, {name: cell}))

    def _append(self, row: tables.Row, launch: _Launch) -> bool:
        if len(self._all) == MOST_LAUNCHES:
            return False
        self._all.append(launch)
        self._latest[_key(row)] = launch
        return True

    def _columns(self, table: tables.Table) -> list[tuple[int, str]]:
        if table.number not in self._places:
            self._places[table.number] = [
                (place, name) for place, name in enumerate(table.columns) if name in self._wanted
            ]
        return self._places[table.number]

    def _observe_other_columns(self, row: tables.Row) -> None:
        for name, text in zip(row.table.columns, row.cells, strict=False):
            if name not in tables.LAUNCH_COLUMNS:
                self._notation.observe(text, ours=False)

    def report(self, denied: frozenset[str]) -> NcuReport:
        notation, gaps = self._notation.notation(), Gaps()
        kernels = []
        for launch in sorted(self._all, key=lambda one: (one.table.number, one.number)):
            metrics: dict[str, Metric] = {}
            for name in self._order:
                cell = launch.cells.get(name)
                if cell is None:
                    found: Metric | str = self._absent(launch.table, name)
                elif name in launch.ambiguous:
                    found = "it stands there twice, with different values"
                else:
                    unit = cell.unit if cell.place is None else launch.table.unit(cell.place)
                    found = read_value(name, cell.text, unit, notation)
                if isinstance(found, Metric):
                    metrics[name] = found
                else:
                    gaps.add(name, "ncu cannot access it here" if name in denied else found)
            kernels.append(NcuKernel(bare_name(launch.kernel), metrics))
        if not kernels:
            return empty_report("ncu's table has no kernel")
        return NcuReport(tuple(kernels), dict(gaps.reasons(len(kernels))))

    def _absent(self, table: tables.Table, name: str) -> str:
        if table.details:
            return "ncu's details page does not show it"
        return "the row was cut short" if name in table.columns else "no column in ncu's report"


def _key(row: tables.Row) -> tuple[str, int, str]:
    return row.process, row.number, row.kernel
