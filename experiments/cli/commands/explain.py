"""`explain`: why the best kernel is faster, as Markdown."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.deliverables.best import read_delivery
from experiments.deliverables.explaining import explanation
from mcts.files import write_whole


def explain(run_dir: Path, *, out: Path | None) -> None:
    """Print the text, or write it to `out`. InputError where the run has no result yet."""
    text = explanation(read_delivery(run_dir))
    if out is None:
        sys.stdout.write(text)
        return
    write_whole(out, text)
    print(out)
