"""`tasks from-definition`: definitions in FlashInfer's trace format as problem files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from experiments.runs.tasks.definition_problems import (
    named_workloads,
    problem_name,
    problem_text,
)
from experiments.runs.tasks.definitions import (
    TraceWorkload,
    read_definition,
    read_workloads,
    workloads_of,
)
from experiments.runs.tasks.problems import MOST_WORKLOADS
from experiments.text.tables import Column, print_fitted
from experiments.text.words import did_you_mean
from mcts.errors import InputError
from mcts.files import write_whole

_COLUMNS = (Column("file"), Column("workloads", "words"))


def from_definition(
    definition: Path,
    *,
    out: Path,
    workloads: Path | None,
    chosen: Sequence[str],
    root: Path | None,
    together: bool,
    by_name: bool,
    as_json: bool,
) -> None:
    """Write a problem file for each workload, or for those `chosen` by uuid, and say which.

    With `together`, a single one on all of them; with `by_name`, random inputs are what their names
    say.

    Files that are there already are written anew. InputError if something does not fit.
    """
    known = read_definition(definition)
    file = workloads if workloads is not None else workloads_of(definition)
    wanted = named_workloads(known, _chosen(read_workloads(file, known), chosen, file))
    below = root if root is not None else file.parent
    files = (
        {problem_name(known): wanted}
        if together
        else {problem_name(known, name): {name: each} for name, each in wanted.items()}
    )
    if together and len(wanted) > MOST_WORKLOADS:
        raise InputError(
            f"{file} has {len(wanted)} workloads, {MOST_WORKLOADS} at most can be judged together: "
            "choose some with --workload"
        )
    texts = {
        name: problem_text(known, given, root=below, by_name=by_name)
        for name, given in files.items()
    }
    rows = []
    for name, text in texts.items():
        path = out / f"{name}.py"
        try:
            out.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from None
        rows.append({"file": str(path), "workloads": [one.uuid for one in files[name].values()]})
    if as_json:
        print(json.dumps({"definition": known.name, "problems": rows}, ensure_ascii=False))
        return
    print_fitted(_COLUMNS, [[str(row["file"]), ", ".join(row["workloads"])] for row in rows])
    print(f"search one with rooftree optimize {rows[0]['file']} --model NAME")


def _chosen(
    workloads: Sequence[TraceWorkload], uuids: Sequence[str], file: Path
) -> list[TraceWorkload]:
    by_uuid = {workload.uuid: workload for workload in workloads}
    for uuid in uuids:
        if uuid not in by_uuid:
            hint = did_you_mean(uuid, by_uuid)
            raise InputError(f"{file} has no workload {uuid}{'; ' + hint if hint else ''}")
    return [by_uuid[uuid] for uuid in uuids] if uuids else list(workloads)
