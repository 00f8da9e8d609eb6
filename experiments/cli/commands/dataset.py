"""`dataset`: write training sets, and say what they hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from experiments.app.messages import say, ticking
from experiments.text.tables import Column, print_fitted
from experiments.training.exporting import SPLITS, Exported, read_set
from experiments.training.exporting import export as write
from experiments.training.sets import SETS

_COLUMNS = (Column("set", "name"), *map(Column, SPLITS))


def export(
    given: Sequence[Path],
    *,
    out: Path,
    licence: str,
    test_share: float,
    seed: int,
    as_json: bool,
) -> None:
    """Write the sets and their card, and print how many rows each has."""
    with ticking("reading runs"):
        found = write(given, out, licence=licence, test_share=test_share, seed=seed, say=say)
    if as_json:
        print(json.dumps(asdict(found), ensure_ascii=False))
        return
    _print_rows(found.rows)
    for line in _words(found):
        print(line)
    print(f"written: {out}; load one with datasets.load_dataset({str(out)!r}, 'supervised')")


def show(folder: Path, *, as_json: bool) -> None:
    """Read every row of an export, and print how many each set has."""
    rows = {name: {split: len(read_set(folder, name, split)) for split in SPLITS} for name in SETS}
    if as_json:
        print(json.dumps(rows))
        return
    _print_rows(rows)


def _print_rows(rows: Mapping[str, Mapping[str, int]]) -> None:
    lines = [[name, *(str(counts[split]) for split in SPLITS)] for name, counts in rows.items()]
    print_fitted(_COLUMNS, lines)


def _words(found: Exported) -> list[str]:
    verdicts = ", ".join(f"{count} {name}" for name, count in found.verdicts.items())
    lines = [f"{found.tasks} tasks; verdicts: {verdicts}"]
    if found.test_families:
        lines.append(f"to test with: {', '.join(found.test_families)}")
    if found.left_out:
        left = ", ".join(f"{count} {why}" for why, count in found.left_out.items())
        lines.append(f"left out: {left}")
    return lines
