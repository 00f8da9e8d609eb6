"""`compare`: a study's results, or runs beside each other, as tables, files and a page."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.benchmarks.comparing import curves as run_curves
from experiments.benchmarks.comparing import page as run_page
from experiments.benchmarks.comparing import rows
from experiments.benchmarks.comparing.comparing import compare_runs
from experiments.benchmarks.comparing.runs import is_study, read_runs
from experiments.benchmarks.model_studies.config import MODEL_SEARCHES
from experiments.benchmarks.one_step.config import ONE_STEP
from experiments.benchmarks.studies.comparing import Contest
from experiments.benchmarks.studies.comparing import compare as find
from experiments.benchmarks.studies.contest_tables import as_csv
from experiments.benchmarks.studies.curves import charts
from experiments.benchmarks.studies.folder import StudyFolder, study_kind
from experiments.benchmarks.studies.page import explanation, page
from experiments.benchmarks.studies.tables import contest_tables, standing_table
from experiments.cli.commands import model_study, one_step
from experiments.runs.folders.journal import DATABASE
from experiments.text.tables import print_table, show, width
from mcts.errors import InputError
from mcts.files import write_whole

PAGE = "compare.html"
_WITH_MODEL = {ONE_STEP: one_step.compare, MODEL_SEARCHES: model_study.compare}
"""How studies with a model are compared, by kind."""


def compare(
    given: Sequence[str], *, reference: str | None, out: Path | None, as_json: bool
) -> None:
    """Compare the arms of a study if its folder is the only one given, otherwise runs.

    Raises InputError if a folder holds neither, or if studies and runs are mixed.
    """
    folders = [Path(item) for item in given]
    if len(folders) == 1 and not is_study(folders[0]) and _lacks_run(folders[0]):
        raise InputError(_neither(folders[0]))
    if len(folders) == 1 and is_study(folders[0]):
        if out is not None:
            raise InputError("-o is for runs: a study's files are written into its own folder")
        kind = study_kind(folders[0]) or ""
        show_study = _WITH_MODEL.get(kind, _compare_study)
        show_study(folders[0], reference=reference, as_json=as_json)
    else:
        if out is None:
            _check_ours(Path(PAGE))
        _compare_runs(given, reference=reference, out=out or Path(PAGE), as_json=as_json)


def _check_ours(page: Path) -> None:
    """InputError if there is a file of that name that is no page of ours."""
    try:
        text = page.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    if "rooftree" not in text[:4096].lower():
        raise InputError(f"{page} is there and is no page of ours: name another with -o FILE.html")


def _lacks_run(folder: Path) -> bool:
    """Whether this is a folder without a run."""
    return folder.is_dir() and not (folder / DATABASE).is_file()


def _neither(folder: Path) -> str:
    """Why a folder cannot be compared, and how to compare the runs in it if there are any."""
    words = (
        f"{folder} is not a study's folder (it has no study.json), nor a run's (it has no "
        f"{DATABASE})"
    )
    if any(folder.glob(f"*/{DATABASE}")):
        words += f"; to compare the runs in it: rooftree compare {shlex.quote(str(folder))}/*"
    return words


def _compare_runs(given: Sequence[str], *, reference: str | None, out: Path, as_json: bool) -> None:
    """Print the tables, then write the page. InputError if the page cannot be written."""
    if out.suffix.lower() != ".html":
        raise InputError(f"cannot write {out.name}: what -o names is a web page, name it FILE.html")
    found = compare_runs(read_runs(given), reference=reference)
    page_text = run_page.page(found, run_curves.charts(found))
    if as_json:
        print(json.dumps(found.model_dump(mode="json"), ensure_ascii=False))
    else:
        for table in rows.run_tables(found, width=width()):
            print_table(table)
        print(rows.explanation(found))
        _warn(found.warnings)
    try:
        write_whole(out, page_text)
    except OSError as error:
        raise InputError(
            f"the page {out} cannot be written: {error.strerror}; name another: -o FILE.html"
        ) from error
    if not as_json:
        print(f"written: {out}")


def _compare_study(path: Path, *, reference: str | None, as_json: bool) -> None:
    """Write compare.csv, compare.json and compare.html into the study's folder, and print."""
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
        folder.write("compare.csv", as_csv(found, Contest)),
        folder.write("compare.json", text + "\n"),
        folder.write("compare.html", page(found, drawn, list(plan.study.arms))),
    ]
    if as_json:
        print(text)
        return
    if found.question:
        print(found.question)
    show(*contest_tables(found, width=width()))
    print(explanation(found))
    show(standing_table(found, width=width()))
    _warn(found.warnings)
    print("written: " + ", ".join(map(str, files)))


def _warn(warnings: Sequence[str]) -> None:
    for words in warnings:
        print(f"warning: {words}", file=sys.stderr)
