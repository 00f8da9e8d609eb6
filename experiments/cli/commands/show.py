"""`new`, `tree`, `report`, `tasks` and `doctor`: start a task, look at runs and at this machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.app.doctor import Check, as_json, examine
from experiments.app.interrupting import command_line
from experiments.app.messages import say
from experiments.app.trial_profile import try_profile
from experiments.live.overview import Overview
from experiments.runs.folders.journal import read_events
from experiments.runs.machines.ceilings import DeviceCeilings, device_ceilings
from experiments.runs.machines.machine import gpu_names, gpu_problem
from experiments.runs.tasks.files import TaskSource, bundled, find_task
from experiments.runs.tasks.scaffold import KERNEL_FILE, new_task
from experiments.text.tables import Column, fitted, print_table, show, width
from experiments.views import summary
from experiments.views.closing import closing_words
from experiments.views.tree.drawing import tree_source
from experiments.views.tree.given_up import given_up
from experiments.views.tree.render import check_format, render
from mcts.errors import InputError
from mcts.journal.record import RUNNING, Result
from mcts.ports import Event

if TYPE_CHECKING:
    from profilers.recordings.recording import Recording

_TASKS = (
    Column("task", "name"),
    Column("dialect", "name", spare=2),
    Column("recorded on", "words", spare=1),
    Column("valid"),
    Column("failed"),
    Column("best"),
    Column("what it is", "words"),
)
_WITH_SUMMARY = 100
"""A terminal of so many columns or more has room for the tasks' summaries; in fewer they would
stand word below word."""
_MARKS = {"ok": "green", "note": "yellow", "problem": "bold red"}


def new(folder: Path) -> None:
    """Make a task folder, and print its files and the next command to try on this machine."""
    for path in new_task(folder):
        print(path)
    search = command_line("optimize", folder)
    if gpu_problem() is None:
        print(f"next: {search}")
        return
    print(f"next: {command_line('inspect', folder / KERNEL_FILE)}")
    print(f"then, on a GPU: {search} (rooftree doctor says what is missing here)")


def tree(run_dir: Path, *, out: Path | None, max_nodes: int) -> None:
    """Draw a run's tree to `out` (tree.svg of the run by default), also while it runs."""
    target = out or run_dir / "tree.svg"
    check_format(target)
    facts, result, events = _read(run_dir)
    title = f"{facts.task} on {facts.hardware}"
    picture = tree_source(result, title=title, max_nodes=max_nodes, pruned=given_up(events))
    render(picture.source, target)
    best = result.best.verdict
    gain = f", best {best.speedup:.2f}x" if best is not None and best.speedup is not None else ""
    print(f"{target}: {len(result.nodes)} nodes{gain}")


def report(run_dir: Path, *, out: Path | None = None) -> None:
    """Write a run's report and best kernel, also while it runs; with `out` only the report.

    Raises InputError if they cannot be written.
    """
    if out is not None and out.suffix.lower() != ".html":
        raise InputError(f"cannot write {out.name}: the report is a web page, name it FILE.html")
    if out is not None:
        facts, result, events = _read(run_dir)
        summary.write_page(out, run_dir, facts, result, events=events)
        print(out)
        return
    while True:
        facts, result, outputs = _written(run_dir)
        if result.stop_reason != RUNNING:
            break
        (line,) = Overview(run_dir).lines()
        if _read(run_dir)[1].stop_reason == RUNNING:
            break  # it did not end while this was written
    print("\n".join(closing_words(facts, result, outputs, run_dir)))
    if result.stop_reason == RUNNING:
        crashed = f"it crashed or was killed; go on with: {command_line('resume', run_dir)}"
        print(f"state         {'it is running' if line.state == 'running' else crashed}")


def _read(run_dir: Path) -> tuple[summary.RunFacts, Result, Sequence[Event]]:
    events = read_events(run_dir)
    return summary.facts_of(events), summary.result_of(events), events


def _written(run_dir: Path) -> tuple[summary.RunFacts, Result, summary.Outputs]:
    """What the run has come to, with its files written."""
    facts, result, events = _read(run_dir)
    try:
        return facts, result, summary.write_outputs(run_dir, facts, result, events=events)
    except OSError as error:
        again = command_line("report", run_dir)
        raise InputError(
            f"{error.filename or run_dir} cannot be written: {error.strerror or error}; "
            f"write the report elsewhere: {again} -o report.html"
        ) from error


def tasks(*, as_json: bool) -> None:
    """List the bundled tasks with what their recordings hold."""
    rows = [_task_row(find_task(name)) for name in bundled()]
    if as_json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    _print_tasks(rows)


def _task_row(source: TaskSource) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": source.task.name,
        "dialect": source.task.dialect,
        "recorded_on": None,
        "valid_variants": None,
        "failed_variants": None,
        "best_speedup": None,
        "summary": source.task.summary,
    }
    if source.recordings:
        row |= _recorded(source.recordings[-1])
    return row


def _recorded(path: Path) -> dict[str, Any]:
    from profilers.recordings.t4 import load_recording

    recording: Recording = load_recording(path)
    found = recording.summary()
    return {
        "recorded_on": f"{recording.hardware.name}, {recording.recorded_on}",
        "valid_variants": found.valid,
        "failed_variants": sum(found.failed.values()),
        "best_speedup": found.best_speedup,
    }


def _print_tasks(rows: list[dict[str, Any]]) -> None:
    columns = _TASKS if width() >= _WITH_SUMMARY else _TASKS[:-1]
    found = fitted(columns, [_task_cells(row)[: len(columns)] for row in rows], width=width())
    missing = tuple(column.title for column in _TASKS[len(columns) :])
    show(replace(found, left_out=(*found.left_out, *missing)))


def _task_cells(row: dict[str, Any]) -> tuple[str, ...]:
    best = row["best_speedup"]
    return (
        row["name"],
        row["dialect"],
        row["recorded_on"] or "not recorded",
        _shown(row["valid_variants"]),
        _shown(row["failed_variants"]),
        f"{best:.2f}x" if best else "",
        row["summary"],
    )


def _shown(count: int | None) -> str:
    return "" if count is None else str(count)


def doctor(*, as_json_object: bool) -> bool:
    """Print every check and the GPUs' ceilings; returns whether no check is a problem."""
    checks = [*examine(), try_profile(say)]
    ceilings = device_ceilings(gpu_names(), on_progress=say)
    checks += [
        Check(f"GPU {gpu.device} ceilings", "note", f"not measured: {gpu.problem}")
        for gpu in ceilings
        if gpu.problem
    ]
    if as_json_object:
        print(json.dumps(as_json(checks, ceilings), ensure_ascii=False))
    else:
        print_checks(checks)
        for gpu in ceilings:
            if not gpu.problem:
                print()
                _print_ceilings(gpu)
    return all(check.level != "problem" for check in checks)


def print_checks(checks: list[Check]) -> None:
    """A line for each, its level in front."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    for check in checks:
        mark = Text(check.level, style=_MARKS[check.level])
        table.add_row(mark, Text(check.name), Text(check.detail, overflow="fold"))
    print_table(table)


def _print_ceilings(gpu: DeviceCeilings) -> None:
    from rich.table import Table

    when = "measured just now" if gpu.measured_now else "measured earlier"
    print(f"What GPU {gpu.device}, {gpu.name}, reaches ({when}), beside its datasheet")
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for title in ("measured", "datasheet", "ratio"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in gpu.rows:
        table.add_row(
            row.name,
            _with_unit(row.measured, row.unit) or "no probe",
            _with_unit(row.datasheet, row.unit),
            f"{row.ratio:.0%}" if row.ratio is not None else "",
        )
    print_table(table)
    print(f"datasheet: {gpu.source or 'none is known here for a GPU of this name'}")


def _with_unit(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
