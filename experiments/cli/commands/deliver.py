"""`explain` and `export`: hand over a run's best kernel, as Markdown and as files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from experiments.deliverables.best import read_delivery
from experiments.deliverables.explaining import explanation
from experiments.deliverables.writing import deliverables, write
from mcts.files import write_whole


def explain(run_dir: Path, *, out: Path | None) -> None:
    """Print why the best kernel is faster, or write it to `out`.

    Raises InputError if the run has no result yet.
    """
    text = explanation(read_delivery(run_dir))
    if out is None:
        sys.stdout.write(text)
        return
    write_whole(out, text)
    print(out)


def export(run_dir: Path, folder: Path, *, force: bool, as_json: bool) -> None:
    """Write the best kernel into `folder` in every form it can have, and print what was left out.

    Raises InputError if the run has no result yet, or if the folder is not free.
    """
    delivery = read_delivery(run_dir)
    written = deliverables(delivery)
    paths = write(written, folder, force=force)
    if as_json:
        document = {
            "run_dir": str(run_dir),
            "folder": str(folder),
            "node": delivery.best.id,
            "speedup": delivery.timing.speedup,
            "files": [path.relative_to(folder).as_posix() for path in paths],
            "left_out": written.left_out,
        }
        print(json.dumps(document, ensure_ascii=False))
        return
    print(f"node {delivery.best.id}, {delivery.found}")
    for path in paths:
        print(path)
    for name, why in written.left_out.items():
        print(f"left out: {name}: {why}")
