"""Studies that were published belong to the plans beside them, whatever options came since."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmarks.model_studies.folder import ModelStudyFolder, cells_of
from experiments.benchmarks.one_step.folder import OneStepFolder, steps_of
from mcts.formats import parse_json

EVIDENCE = Path(__file__).parents[3] / "experiments" / "benchmarks" / "evidence" / "model_studies"
STUDIES = sorted(path.parent.name for path in EVIDENCE.glob("*/study.json"))


@pytest.mark.parametrize("name", STUDIES)
def test_every_line_belongs_to_the_plan(name: str) -> None:
    found: Any = parse_json((EVIDENCE / name / "study.json").read_text(encoding="utf-8"))
    folder: Any
    if found["study"]["kind"] == "one_step":
        folder = OneStepFolder(EVIDENCE / name)
        keys = {step.key for step in steps_of(folder.plan())}
    else:
        folder = ModelStudyFolder(EVIDENCE / name)
        keys = {cell.key for cell in cells_of(folder.plan())}
    lines = [line.key for line in folder.lines()]
    assert lines and set(lines) <= keys and len(lines) == len(set(lines))


def test_all_of_them_are_looked_at() -> None:
    assert {"advice", "headline", "openings", "told", "values"} <= set(STUDIES)


@pytest.mark.parametrize("name", sorted({path.parent.name for path in EVIDENCE.glob("*/*.sqlite")}))
def test_no_store_has_the_code_of_a_problem(name: str) -> None:
    for store in (EVIDENCE / name).glob("*.sqlite"):
        with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT payload FROM measurement WHERE kind = 'candidate'")
            sources = [parse_json(payload)["source"] for (payload,) in rows]
        assert all("class ModelNew(" in source for source in sources)
