"""The process that reads a .ncu-rep with NVIDIA's Python module `ncu_report`.

Run as ``python -m profilers.ncu.report_reader SPEC``. It writes one line of JSON per launch, and a
last one that says how many were left out; it writes nothing if there is no such module.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

MODULE = "ncu_report"


def write_launches(spec_path: Path) -> None:
    """Read the report that the specification names; raises whatever the module raises."""
    spec = json.loads(spec_path.read_text())
    sys.path.extend(spec["folders"])
    try:
        module = importlib.import_module(MODULE)
    except ModuleNotFoundError as error:
        if error.name == MODULE:
            return
        raise
    count = 0
    with Path(spec["out"]).open("w") as out:
        context = module.load_report(spec["report"])
        for place in range(context.num_ranges()):
            launches = context.range_by_idx(place)
            for index in range(launches.num_actions()):
                count += 1
                if count <= spec["most"]:
                    line = launch_facts(launches.action_by_idx(index), spec["wanted"])
                    out.write(json.dumps(line) + "\n")
        out.write(json.dumps({"left_out": max(0, count - spec["most"])}) + "\n")


def launch_facts(action: Any, wanted: Iterable[str]) -> dict[str, Any]:
    """The launch's name, its metrics as (value, unit), and why the others are missing."""
    metrics: dict[str, tuple[float, str]] = {}
    missing: dict[str, str] = {}
    for name in wanted:
        metric = action.metric_by_name(name)
        if metric is None:
            missing[name] = "not in the report"
        elif not metric.has_value():
            missing[name] = "the report has no value for it"
        elif not _numeric(metric):  # a text reads as zero if asked for as a number
            missing[name] = "the report has no number for it"
        elif math.isfinite(value := metric.as_double()):
            metrics[name] = (value, metric.unit())
        else:
            missing[name] = f"the report says {value}"
    name = action.name(action.NameBase_DEMANGLED)
    return {"name": name, "metrics": metrics, "missing": missing}


def _numeric(metric: Any) -> bool:
    return metric.kind() in (
        metric.ValueKind_FLOAT,
        metric.ValueKind_DOUBLE,
        metric.ValueKind_UINT32,
        metric.ValueKind_UINT64,
    )


if __name__ == "__main__":
    write_launches(Path(sys.argv[1]))
