"""`export`: a run's best kernel in the forms that others can use."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.deliverables.best import read_delivery
from experiments.deliverables.writing import deliverables, write


def export(run_dir: Path, folder: Path, *, force: bool, as_json: bool) -> None:
    """Write everything that the run can have into `folder`, and say what it cannot.

    Raises InputError where the run has no result yet or the folder is not free.
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
