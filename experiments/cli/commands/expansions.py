"""`expansions`: collect recorded expansions out of runs, and show what a file of them holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from experiments.benchmarks.expansions.collecting import collect
from experiments.benchmarks.expansions.file import (
    find_expansions,
    read_expansions,
    write_expansions,
)
from experiments.benchmarks.expansions.table import COLUMNS, row, summary
from experiments.text.tables import print_fitted
from mcts.errors import InputError


def expansions(given: Sequence[str], *, out: Path | None, as_json: bool) -> None:
    """Print what the file holds; with `out`, make it first of the run folders and files given.

    Raises InputError for what is neither, and OSError if the file cannot be written.
    """
    if out is not None:
        trees = collect([Path(each) for each in given])
        write_expansions(out, trees)
    elif len(given) > 1 or Path(given[0]).is_dir():
        raise InputError("to collect runs, name the file to make: -o FILE.jsonl.gz")
    else:
        trees = read_expansions(find_expansions(given[0]))
    if as_json:
        print(json.dumps([summary(tree) for tree in trees], ensure_ascii=False))
        return
    print_fitted(COLUMNS, [row(tree) for tree in trees])
    if out is not None:
        print(f"written: {out}")
