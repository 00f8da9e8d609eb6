"""A study as JSON and back, and several of them as one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from experiments.benchmarks.corpus.exhibits import Exhibit
from experiments.benchmarks.corpus.expectation import Outcome
from experiments.benchmarks.corpus.study import Study
from mcts.errors import InputError

_KEPT = tuple(field.name for field in fields(Outcome) if field.name != "exhibit")
_MOST_CHARACTERS = 2000


def as_json(study: Study) -> dict[str, Any]:
    """Every outcome, with what was expected of it, and the exhibits that are left."""
    return {
        "hardware": study.hardware,
        "isolation": study.isolation,
        "exhibits": len(study.outcomes),
        "wrong": len(study.wrong),
        "left": study.left,
        "outcomes": [_entry(outcome) for outcome in study.outcomes],
    }


def merged(paths: Sequence[Path], exhibits: Sequence[Exhibit]) -> Study:
    """The studies in JSON files as one, each verdict judged by the manifest as it is now.

    Of two outcomes of an exhibit the later file's counts, but for one that was not run. InputError
    for a file that is no study, or that holds an exhibit the manifest does not.
    """
    known = {one.name: one for one in exhibits}
    found: dict[str, Outcome] = {}
    planned: set[str] = set()
    hardware: list[str] = []
    for path in paths:
        try:
            table = json.loads(path.read_text(encoding="utf-8"))
            outcomes = [_outcome(entry, known) for entry in table["outcomes"]]
            planned |= {known[name].name for name in table["left"]}
            hardware.append(str(table["hardware"]))
        except (OSError, ValueError, TypeError, KeyError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{path} holds no study of this corpus: {reason}") from None
        for outcome in outcomes:
            if not (outcome.skipped and outcome.exhibit.name in found):
                found[outcome.exhibit.name] = outcome
    planned |= found.keys()
    return Study(
        planned=tuple(one for one in exhibits if one.name in planned),
        outcomes=[found[one.name] for one in exhibits if one.name in found],
        hardware=", ".join(dict.fromkeys(name for name in hardware if name)),
    )


def _outcome(entry: dict[str, Any], known: dict[str, Exhibit]) -> Outcome:
    return Outcome(exhibit=known[entry["name"]], **{name: entry[name] for name in _KEPT})


def _entry(outcome: Outcome) -> dict[str, Any]:
    exhibit = outcome.exhibit
    return {
        "name": exhibit.name,
        "dialect": exhibit.dialect,
        "task": exhibit.task,
        "class": exhibit.kind,
        "policy": exhibit.policy,
        "expect": exhibit.expect,
        "or_neutral": exhibit.or_neutral,
        "verdict": outcome.verdict,
        "cheat": outcome.cheat,
        "speedup": outcome.speedup,
        "speedup_low": outcome.speedup_low,
        "isolation": outcome.isolation,
        "seconds": round(outcome.seconds, 3),
        "skipped": outcome.skipped,
        "wrong": outcome.wrong,
        "message": outcome.message[:_MOST_CHARACTERS],
    }
