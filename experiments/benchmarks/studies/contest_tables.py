"""Contests as a table for the terminal, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from experiments.benchmarks.studies.contests import PairedContest
from experiments.text.tables import Column, Fitted, fitted

ContestT = TypeVar("ContestT", bound=PairedContest)


class Found(Protocol):
    """What comparing the arms of a study found."""

    @property
    def study(self) -> str: ...
    @property
    def reference(self) -> str: ...
    @property
    def alpha(self) -> float: ...
    @property
    def contests(self) -> Sequence[PairedContest]: ...


def as_csv(found: Found, columns: type[PairedContest]) -> str:
    """One line per contest, all numbers in full."""
    out = io.StringIO()
    writer = csv.DictWriter(out, ["study", "reference", *columns.model_fields], lineterminator="\n")
    writer.writeheader()
    for contest in found.contests:
        writer.writerow(
            {"study": found.study, "reference": found.reference, **contest.model_dump()}
        )
    return out.getvalue()


def contest_table(
    contests: Sequence[ContestT],
    columns: Sequence[Column],
    row_of: Callable[[ContestT], Sequence[str]],
    *,
    alpha: float,
    width: int,
    title: str,
) -> Fitted:
    """A row per contest; what is below `alpha` after Holm stands out."""
    from rich.text import Text

    rows = [
        [Text(cell, style="bold" if contest.p_holm < alpha else "") for cell in row_of(contest)]
        for contest in contests
    ]
    return fitted(columns, rows, width=width, title=title)


def win_text(contest: PairedContest) -> str:
    """``5/1/2``: wins, ties and losses."""
    return f"{contest.wins}/{contest.ties}/{contest.losses}"


def detectable_text(contest: PairedContest) -> str:
    """``1.1x``, or that no ratio would be seen."""
    return f"{contest.detectable:g}x" if contest.detectable else "nothing"
