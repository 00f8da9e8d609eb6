"""`compare`: what a study found, as tables, files and a page."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from experiments.commands.tables import print_table
from experiments.studies.comparing import compare as find
from experiments.studies.curves import charts
from experiments.studies.folder import StudyFolder
from experiments.studies.page import explanation, page
from experiments.studies.tables import as_csv, contest_tables, standing_table


def compare(path: Path, *, reference: str | None, as_json: bool) -> None:
    """Write compare.csv, compare.json and compare.html into the study's folder, and print.

    Raises InputError where the folder holds no study or nothing can be paired yet.
    """
    folder = StudyFolder(path)
    plan, lines = folder.plan(), tuple(folder.lines())
    found = find(plan, lines, reference=reference)
    drawn = charts(plan, lines)
    document = {
        **found.model_dump(mode="json"),
        "curves": [chart.model_dump(mode="json") for chart in drawn],
    }
    text = json.dumps(document, ensure_ascii=False)
    files = [
        folder.write("compare.csv", as_csv(found)),
        folder.write("compare.json", text + "\n"),
        folder.write("compare.html", page(found, drawn, list(plan.study.arms))),
    ]
    if as_json:
        print(text)
        return
    if found.question:
        print(found.question)
    for table in contest_tables(found):
        print_table(table)
    print(explanation(found))
    print_table(standing_table(found))
    for words in found.warnings:
        print(f"warning: {words}", file=sys.stderr)
    print("written: " + ", ".join(map(str, files)))
