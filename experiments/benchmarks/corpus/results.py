"""A found as JSON and back, and several of them as one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from experiments.benchmarks.corpus.cases import CorpusCase
from experiments.benchmarks.corpus.running import CorpusRun
from experiments.benchmarks.corpus.verdicts import JudgedCase
from mcts.errors import InputError

_KEPT = tuple(field.name for field in fields(JudgedCase) if field.name != "case")
_MOST_CHARACTERS = 2000


def as_json(found: CorpusRun) -> dict[str, Any]:
    """Every result, with what was expected of it, and the cases that are left."""
    return {
        "hardware": found.hardware,
        "isolation": found.isolation,
        "exhibits": len(found.results),
        "wrong": len(found.wrong),
        "left": found.left,
        "outcomes": [_entry(result) for result in found.results],
    }


def merged(paths: Sequence[Path], cases: Sequence[CorpusCase]) -> CorpusRun:
    """The studies in JSON files as one, each verdict judged by the manifest as it is now.

    Of two results of a case the later file's counts, but for one that was not run. InputError
    for a file that is no run, or that holds a case the manifest does not.
    """
    known = {one.name: one for one in cases}
    found: dict[str, JudgedCase] = {}
    planned: set[str] = set()
    hardware: list[str] = []
    for path in paths:
        try:
            table = json.loads(path.read_text(encoding="utf-8"))
            results = [_outcome(entry, known) for entry in table["outcomes"]]
            planned |= {known[name].name for name in table["left"]}
            hardware.append(str(table["hardware"]))
        except (OSError, ValueError, TypeError, KeyError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{path} holds no run of this corpus: {reason}") from None
        for result in results:
            if not (result.skipped and result.case.name in found):
                found[result.case.name] = result
    planned |= found.keys()
    return CorpusRun(
        planned=tuple(one for one in cases if one.name in planned),
        results=[found[one.name] for one in cases if one.name in found],
        hardware=", ".join(dict.fromkeys(name for name in hardware if name)),
    )


def _outcome(entry: dict[str, Any], known: dict[str, CorpusCase]) -> JudgedCase:
    return JudgedCase(case=known[entry["name"]], **{name: entry[name] for name in _KEPT})


def _entry(result: JudgedCase) -> dict[str, Any]:
    case = result.case
    return {
        "name": case.name,
        "dialect": case.dialect,
        "task": case.task,
        "class": case.kind,
        "policy": case.policy,
        "expect": case.expect,
        "or_neutral": case.or_neutral,
        "verdict": result.verdict,
        "cheat": result.cheat,
        "speedup": result.speedup,
        "speedup_low": result.speedup_low,
        "isolation": result.isolation,
        "seconds": round(result.seconds, 3),
        "skipped": result.skipped,
        "wrong": result.wrong,
        "message": result.message[:_MOST_CHARACTERS],
    }
