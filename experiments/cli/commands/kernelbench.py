"""`kernelbench`: a search for each of many problems, the field's metrics, suites compared."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.app.interrupting import signals_interrupt
from experiments.app.messages import say
from experiments.benchmarks.suite import comparison_tables, tables
from experiments.benchmarks.suite.comparing import compare_suites, read_suites
from experiments.benchmarks.suite.concluding import reprice
from experiments.benchmarks.suite.finding import ProblemFile, chosen, problems_of
from experiments.benchmarks.suite.folder import Plan, SuiteFolder, go_on_words
from experiments.benchmarks.suite.metrics import cost_of, summarize
from experiments.benchmarks.suite.outcome import Outcome
from experiments.benchmarks.suite.running import SuiteRunner
from experiments.runs.options.first_format import named_flat
from experiments.runs.options.libraries import read_library
from experiments.runs.options.request import RunRequest
from experiments.runs.tasks.problems import problem_dialect
from experiments.runs.wiring.choosing import REPLAY
from experiments.text.tables import print_table, show, width
from mcts.domain import KERNELBENCH
from mcts.errors import InputError, RooftreeError
from mcts.files import write_whole

_NOT_OF_SUITES = frozenset({"dialect", "kernel", "includes", "compiled"})
"""Options of `optimize` that a suite refuses or does not offer; `includes` is one of its settings
where it is given."""
_WIDE = 110
"""Columns of a terminal from which on there is room for what each problem took."""


def run(
    *,
    root: Path,
    level: int,
    problems: str,
    request: RunRequest,
    compare: bool,
    out: Path,
    max_total_cost_usd: float | None = None,
    as_json: bool = False,
) -> bool:
    """Search each problem with the options of `request`; returns whether none ended in an error.

    A second call continues where the first stopped. No further problem is begun once the suite has
    cost `max_total_cost_usd`. Raises InputError if the options do not fit a suite, or if no problem
    could be searched.
    """
    wanted = chosen(problems_of(root, level), problems)
    _check(request)
    folder = SuiteFolder(out)
    runner = SuiteRunner(folder, request, compare=compare, say=say)
    runner.check(wanted)
    with folder.claimed():
        plan = folder.begin(_settings(request, compare=compare), wanted)
        reprice(folder, plan, request.model.prices, say=say)
        _search(runner, folder, plan, wanted, max_total_cost_usd)
        return _show(folder, plan, as_json=as_json)


def _check(request: RunRequest) -> None:
    """Raise InputError for options of `optimize` that a suite cannot have."""
    if request.judging.evaluator == REPLAY:
        raise InputError("--evaluator replay: PyTorch candidates are measured, by gpu or dask:")
    if problem_dialect(request.judging.dialect) != KERNELBENCH:
        raise InputError(
            "--dialect host: a suite hands over each best kernel as a ModelNew, which a .cu with a "
            "launcher is not; search one problem so: rooftree optimize FILE --dialect host"
        )


def report(path: Path, *, as_json: bool) -> None:
    """Write and print what is known of a suite, also while it runs."""
    folder = SuiteFolder(path)
    _show(folder, folder.plan(), as_json=as_json)


def compare(paths: Sequence[Path], *, out: Path | None, as_json: bool) -> None:
    """Print how suites compare, the first with each of the others; write the rows to `out`.

    Raises InputError if a folder is no suite, if no problem is in all of them, or if `out` cannot
    be written.
    """
    found = compare_suites(read_suites(paths))
    if out is not None:
        try:
            write_whole(out, comparison_tables.csv_text(found))
        except OSError as error:
            raise InputError(f"{out} cannot be written: {error.strerror}") from error
    if as_json:
        print(json.dumps(comparison_tables.document(found), ensure_ascii=False))
        return
    made = [comparison_tables.problem_table, comparison_tables.score_table]
    if found.settings:
        made.append(comparison_tables.settings_table)
    for table in (*made, comparison_tables.duel_table):
        show(table(found, width=width()))
        print()
    for line in comparison_tables.remarks(found):
        print(_wrapped(line))
    for words in found.warnings:
        print(f"warning: {words}", file=sys.stderr)
    if out is not None:
        print(f"written: {out}")


def _search(
    runner: SuiteRunner,
    folder: SuiteFolder,
    plan: Plan,
    wanted: list[ProblemFile],
    max_total_cost_usd: float | None,
) -> None:
    """Search the problems. If that is interrupted or fails, the outcomes so far are written."""

    def enough() -> str | None:
        return cap_reached(folder.outcomes(plan), max_total_cost_usd)

    try:
        with signals_interrupt():
            runner.run(wanted, enough=enough)
    except KeyboardInterrupt:
        _write(folder, plan, folder.outcomes(plan))
        raise KeyboardInterrupt(
            f"interrupted, nothing is lost; {go_on_words(folder.path)}"
        ) from None
    except RooftreeError as error:
        _write(folder, plan, folder.outcomes(plan))
        raise type(error)(f"{error}; {go_on_words(folder.path)}") from error


def cap_reached(outcomes: Sequence[Outcome], max_total_cost_usd: float | None) -> str | None:
    """Returns why no further problem is begun; None if there is money left.

    InputError if a cost is not known, so that the cap cannot be kept.
    """
    if max_total_cost_usd is None:
        return None
    if any(outcome.spent.unpriced for outcome in outcomes):
        raise InputError(
            "--max-total-cost cannot be kept: the cost of a reply is not known; give the model's "
            "price with --price MODEL=IN,OUT"
        )
    cost = cost_of(outcomes) or 0.0
    if cost < max_total_cost_usd:
        return None
    return f"{tables.money(cost)} spent, the cap is {tables.money(max_total_cost_usd)}"


def _show(folder: SuiteFolder, plan: Plan, *, as_json: bool) -> bool:
    """Write and print the results; returns whether no problem ended in an error."""
    outcomes = folder.outcomes(plan)
    _write(folder, plan, outcomes)
    if as_json:
        print(tables.document_text(plan, outcomes), end="")
    else:
        _print(folder, plan, outcomes)
    return not any(outcome.status == "error" for outcome in outcomes)


def _write(folder: SuiteFolder, plan: Plan, outcomes: list[Outcome]) -> None:
    folder.write_results(
        table=tables.csv_text(outcomes), document=tables.document_text(plan, outcomes)
    )


def _print(folder: SuiteFolder, plan: Plan, outcomes: list[Outcome]) -> None:
    if outcomes:
        print_table(tables.problem_table(outcomes, wide=width() >= _WIDE))
        for name, reason in tables.reasons(outcomes):
            print(_wrapped(f"{name}: {reason}"))
        print()
    summary = summarize(outcomes)
    if summary.counted:
        print_table(tables.metrics_table(summary))
    for line in tables.remarks(plan, outcomes, summary):
        print(_wrapped(line))
    for gpu in dict.fromkeys(outcome.hardware for outcome in outcomes if outcome.hardware):
        print(f"hardware: {gpu}")
    print(f"results: {folder.path / 'results.csv'}, {folder.path / 'results.json'}")
    if any(outcome.kernel for outcome in outcomes):
        print(f"kernels: {folder.path / 'kernels'}")


def _wrapped(text: str) -> str:
    return textwrap.fill(
        text, width=max(width(), 20), subsequent_indent="  ", break_on_hyphens=False
    )


def _settings(request: RunRequest, *, compare: bool) -> dict[str, Any]:
    """The settings that must not change between calls; the device, for one, may."""
    given = {
        "judging": request.judging.lasting(),
        "search": request.search.lasting(),
        "limits": request.limits.lasting(),
        "model": request.model.lasting(),
    }
    named = {name: value for name, value in named_flat(given).items() if name not in _NOT_OF_SUITES}
    if request.judging.includes:
        named["includes"] = [str(folder) for folder in request.judging.includes]
    if request.model.library is not None:
        library = read_library(request.model.library)
        named["library"] = f"{library.title}, sha256 {library.sha256}"
    return tables.plain({**named, "compare_with_compile": compare})
