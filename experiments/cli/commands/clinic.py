"""`clinic`: how often tools and classifier are right, on kernels with known bottlenecks."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.app.messages import say
from experiments.benchmarks.clinic import profiling
from experiments.benchmarks.clinic.cases import HALVES, clinic_cases, clinic_kernels, find_set
from experiments.benchmarks.clinic.scores import (
    CLASSES,
    FIRST,
    CaseResult,
    Scores,
    ToolScore,
    by_kind,
    predicted_gains,
    score,
)
from experiments.runs.wiring.gpus import devices_of
from experiments.text.tables import Column, least_width, print_fitted, print_table, width
from mcts.errors import InputError
from mcts.options import JudgingOptions

_SETS = {"tuning": ("tuning",), "held_out": ("held_out",), "all": HALVES}


def clinic(
    *,
    kernels: str,
    half: str | None,
    recording: Path | None,
    live: bool,
    record: Path | None,
    judging: JudgingOptions,
    cases: bool,
    as_json: bool,
) -> None:
    """Print precision and recall per tool, the classifier's accuracy and its confusion matrix.

    Without a `half` those held out, or all of a set of which none is. Raises InputError if
    `kernels` is no set, `half` is unknown or a recording cannot be read.
    """
    if half is not None and half not in _SETS:
        raise InputError(f"--half {half!r}: one of {', '.join(_SETS)}")
    folder = find_set(kernels)
    every = clinic_kernels(folder)
    half = half or ("held_out" if any(one.half == "held_out" for one in every) else "all")
    chosen = clinic_cases(tuple(kernel for kernel in every if kernel.half in _SETS[half]))
    if not chosen:
        raise InputError(f"--half {half}: no kernel of {kernels} is in it")
    missing: list[str] = []
    if live or record is not None:
        wanted = judging.devices
        devices = [judging.device] if wanted is None else devices_of(wanted)
        inspected = profiling.measured(chosen, devices=devices, on_progress=say)
        where = str(inspected[0][1].profile.hardware)
        if record is not None:
            profiling.record(inspected, record)
            say(f"recorded {len(inspected)} profiles in {record}")
    else:
        tape = recording or profiling.default_recording(folder)
        if missing := profiling.unrecorded(chosen, tape):
            say(
                f"left out, since {tape.name} has no profile of them as they are now: "
                f"{', '.join(missing)}; rooftree clinic --record makes one on a GPU"
            )
            chosen = tuple(case for case in chosen if case.kernel.name not in missing)
        inspected = profiling.replayed(chosen, tape)
        where = f"{inspected[0][1].profile.hardware}, recorded {inspected[0][1].recorded_on}"
    examined = profiling.examine(inspected)
    scores = score(examined)
    for problem in _problems(examined):
        say(problem)
    if as_json:
        table = {**_as_json(half, where, scores, examined), "left_out": missing}
        print(json.dumps(table, ensure_ascii=False))
        return
    of = f" of {len(examined) // 2 + len(missing)}" if missing else ""
    print(f"{len(examined) // 2}{of} kernels, ill and repaired, half: {half}; {where}")
    _print_scores(scores)
    _print_kinds(examined)
    _print_gains(examined)
    if cases:
        _print_cases(examined)


def _print_scores(scores: Scores) -> None:
    _print_tools(scores)
    _print_summary(scores)
    _print_confusion(scores)
    _print_plugins(scores)


_TOOLS = (
    Column("tool", "name"),
    Column("planted"),
    Column("found", spare=2),
    Column("recall"),
    Column("in first 5", spare=3),
    Column("on twin", spare=4),
    Column("fired", spare=1),
    Column("precision"),
)


def _print_tools(scores: Scores) -> None:
    print_fitted(_TOOLS, [_tool_row(tool) for tool in scores.tools])


def _tool_row(score: ToolScore) -> tuple[str, ...]:
    planted = score.planted > 0
    return (
        score.tool,
        str(score.planted) if planted else "",
        str(score.found) if planted else "",
        _share(score.recall),
        str(score.shown) if planted else "",
        str(score.fired_on_repaired) if planted else "",
        str(score.fired),
        _share(score.precision),
    )


def _print_gains(examined: Sequence[CaseResult]) -> None:
    found = predicted_gains(examined)
    if found is None:
        return
    print()
    print(f"predicted gains of {found.kernels} planted bottlenecks, against their twins' times:")
    print(
        f"median factor off {found.factor:.2f}, rank correlation {found.correlation:.2f}, "
        f"in the interval {found.inside}"
    )


_KINDS = (
    Column("kind", "name"),
    Column("kernels"),
    Column("right first"),
    Column(f"among {FIRST}"),
)


def _print_kinds(examined: Sequence[CaseResult]) -> None:
    if found := by_kind(examined):
        print()
        rows = [(one.kind, str(one.kernels), str(one.first), str(one.among_first)) for one in found]
        print_fitted(_KINDS, rows)


_PLUGINS = (Column("plug-in", "name"), Column("on ill kernels"), Column("on repaired twins"))


def _print_plugins(scores: Scores) -> None:
    """How often the plug-ins' tools fired; nothing says whether they were right."""
    if not scores.plugins:
        return
    print()
    print_fitted(
        _PLUGINS,
        [(plugin.tool, str(plugin.ill), str(plugin.repaired)) for plugin in scores.plugins],
    )
    print(
        "plug-ins are in none of the figures: the truth table does not name them;\n"
        "--cases lists where they fired"
    )


def _print_summary(scores: Scores) -> None:
    print()
    planted = sum(tool.planted > 0 for tool in scores.tools)
    print(
        f"over the {planted} planted tools: macro recall {_share(scores.macro_recall)}, "
        f"macro precision {_share(scores.macro_precision)}"
    )
    print(
        f"over all {len(scores.tools)} tools: macro precision "
        f"{_share(scores.macro_precision_of_all)}, micro precision "
        f"{_share(scores.micro_precision)}, micro recall {_share(scores.micro_recall)}"
    )
    print(f"planted bottlenecks among the first five findings: {_share(scores.shown)}")
    print(f"ill kernels of which the right tool spoke first: {scores.first} of {scores.ill}")
    print(
        f"ill kernels of which it was among the first {FIRST}: {scores.among_first} of {scores.ill}"
    )
    print(f"planted tools that fired on the repaired twin: {scores.fired_on_repaired}")
    print(f"repaired twins of which nothing untrue was said: {scores.quiet} of {scores.repaired}")
    print(f"roofline class right: {_share(scores.class_accuracy)} of {scores.cases}")
    if scores.limits:
        print(f"and its level of memory: {scores.limits_right} of {scores.limits}")


def _print_confusion(scores: Scores) -> None:
    from rich.table import Table

    present = [name for name in CLASSES if any(name in cell for cell in scores.confusion)]
    table = Table(box=None, pad_edge=False)
    table.add_column("right class \\ given")
    for name in present:
        table.add_column(name, justify="right")
    for right in present:
        cells = (scores.confusion.get((right, given), 0) for given in present)
        table.add_row(right, *(str(count) if count else "" for count in cells))
    print()
    print_table(table)


def _problems(examined: Sequence[CaseResult]) -> Iterable[str]:
    """The advisor's notes about tools that could not be used or failed, each once."""
    notes = (note for result in examined for note in result.guidance.notes)
    return dict.fromkeys(note for note in notes if note.startswith("micro-tool "))


_CASES = tuple(
    Column(title, "words") for title in ("case", "class", "missed", "false alarms", "findings")
)


def _print_cases(examined: Sequence[CaseResult]) -> None:
    """Print a line for each case, or several lines if the terminal is too narrow for one."""
    rows = [_case_row(result) for result in examined]
    print()
    if least_width(_CASES, rows) <= width():
        print_fitted(_CASES, rows)
        return
    for case, bound, *lists in rows:
        print(f"{case}: {bound}")
        for column, tools in zip(_CASES[2:], lists, strict=True):
            if tools:
                print(textwrap.fill(tools, width(), **_hanging(column.title)))


def _hanging(title: str) -> dict[str, Any]:
    """Options of `textwrap.fill` that indent a list behind its title."""
    start = f"  {title:<14}"
    return {
        "initial_indent": start,
        "subsequent_indent": " " * len(start),
        "break_long_words": False,
    }


def _case_row(result: CaseResult) -> tuple[str, ...]:
    right = "" if result.class_is_right else f" (should be {' or '.join(result.case.bound)})"
    return (
        result.case.name,
        result.bound + right,
        ", ".join(result.missed),
        ", ".join(result.false_alarms),
        ", ".join(result.fired),
    )


def _as_json(
    half: str, where: str, scores: Scores, examined: Sequence[CaseResult]
) -> dict[str, Any]:
    return {
        "half": half,
        "hardware": where,
        "patients": scores.cases,
        "macro_recall": scores.macro_recall,
        "macro_precision": scores.macro_precision,
        "macro_precision_of_all": scores.macro_precision_of_all,
        "micro_recall": scores.micro_recall,
        "micro_precision": scores.micro_precision,
        "in_first_five": scores.shown,
        "ill": scores.ill,
        "right_first": scores.first,
        "right_among_first_three": scores.among_first,
        "quiet_twins": scores.quiet,
        "fired_on_twin": scores.fired_on_repaired,
        "class_accuracy": scores.class_accuracy,
        "limits_right": scores.limits_right,
        "limits": scores.limits,
        "predicted_gains": asdict(gains) if (gains := predicted_gains(examined)) else None,
        "tools": [
            {**asdict(tool), "recall": tool.recall, "precision": tool.precision}
            for tool in scores.tools
        ],
        "plugins": [asdict(plugin) for plugin in scores.plugins],
        "confusion": [
            {"right": right, "given": given, "count": count}
            for (right, given), count in sorted(scores.confusion.items())
        ],
        "cases": [
            {
                "case": result.case.kernel.name,
                "kind": result.case.kernel.ailment,
                "repaired": result.case.repaired,
                "rank": result.rank,
                "class": result.bound,
                "right_classes": result.case.bound,
                "limit": result.limit,
                "right_limits": result.case.limit,
                "fired": result.fired,
                "missed": result.missed,
                "false_alarms": result.false_alarms,
            }
            for result in examined
        ],
    }


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
