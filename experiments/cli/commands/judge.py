"""`evaluate`: candidates without a search."""

from __future__ import annotations

import json
import sys
import textwrap
from contextlib import closing
from pathlib import Path
from typing import Any

from codegen.plan_text import canonical_source
from experiments.app.ticking import ticking
from experiments.runs.tasks.checks import naming
from experiments.runs.tasks.files import find_task, read_text
from experiments.runs.wiring import composing
from experiments.text.quantities import energy_text
from experiments.text.tables import print_table, width
from mcts.domain import (
    HOST,
    KERNELBENCH,
    Candidate,
    Evaluation,
    KernelTask,
    TunableSpace,
)
from mcts.domain.evaluation import Latency
from mcts.domain.expressions import Scalar
from mcts.domain.tunables import Configuration
from mcts.errors import InputError, NotRecorded
from mcts.journal.summary import Shape
from mcts.options import JudgingOptions
from mcts.ports import Evaluator

Named = tuple[str, Candidate]


def evaluate(
    task: str,
    files: list[Path],
    *,
    values: list[str],
    judging: JudgingOptions,
    seed: int,
    energy: bool,
    as_json: bool,
) -> bool:
    """Judge each file, or the baseline's source with other tunables; whether all were measured."""
    source = find_task(task, judging.policy)
    candidates = _candidates(source.task, files, values)
    judge = composing.choose_evaluator(source, judging, seed=seed, on_progress=_say)
    with closing(judge):
        hardware, name = str(judge.hardware), judge.name
        if energy and not judge.measures_energy:
            raise InputError(f"evaluator {name} measures no energy: leave out --energy")
        judged = [
            (label, candidate, _judged(judge, label, candidate, energy=energy))
            for label, candidate in candidates
        ]
    if as_json:
        rows = [_row(label, candidate, found) for label, candidate, found in judged]
        print(
            json.dumps(
                {
                    "task": source.task.name,
                    "evaluator": name,
                    "hardware": hardware,
                    "candidates": rows,
                },
                ensure_ascii=False,
            )
        )
    else:
        print(f"task {source.task.name}, evaluator {name}, hardware {hardware}")
        _print_table(judged, usual=source.task.baseline.tunables)
    return all(found.measured for _, _, found in judged)


def _judged(judge: Evaluator, label: str, candidate: Candidate, *, energy: bool) -> Evaluation:
    with ticking(f"judging {label}", _say) as go_on:
        try:
            found = judge.evaluate(candidate)
            if energy and found.measured:
                go_on(f"measuring the energy of {label}")
                found = judge.measure_energy(candidate, found)
        except NotRecorded as error:
            raise InputError(f"{label}: {error}; measure it with --evaluator gpu") from None
    return found


def _candidates(task: KernelTask, files: list[Path], values: list[str]) -> list[Named]:
    """What is to be judged, by name. InputError for what cannot be a candidate of the task."""
    problem = task.dialect.in_pytorch
    if values and problem and not all(file.suffix == HOST.suffix for file in files or [Path()]):
        raise InputError("--set is for tunables of .cu candidates")
    if not files:
        tunables = _with_values(task.space, task.baseline.tunables, values)
        _check_where(task, task.space, tunables)
        return [("baseline" if not values else " ".join(values), _variant(task, tunables))]
    if not task.dialect.has_source:
        raise InputError(f"task {task.name!r} has no source: give --set NAME=VALUE, not files")
    for file in files:
        _check_kind(task, file)
    if problem:
        return [(str(file), _answer(task, file, values)) for file in files]
    return [(str(file), _from_file(task, file, values)) for file in files]


def _answer(task: KernelTask, path: Path, values: list[str]) -> Candidate:
    """A candidate of a problem, in the dialect that it is written in."""
    source = read_text(path)
    dialect = task.dialect_of(source)
    with naming(path):
        if path.suffix == HOST.suffix and not dialect.has_plan:
            raise InputError(
                "a .cu for a KernelBench problem begins with a host plan, a /* rooftree ... */ "
                "comment with TOML: see docs/host.md"
            )
        space = dialect.space_of(source)
        if space is None:
            return Candidate(source=source)
        tunables = _with_values(space, space.default(), values)
        dialect.check_values(source, tunables)
    return Candidate(source=source, tunables=tunables)


def _check_kind(task: KernelTask, file: Path) -> None:
    if task.dialect.declares_launches and file.suffix == KERNELBENCH.suffix:
        raise InputError(f"{file}: candidates of task {task.name!r} are .cu with a launch plan")


def _variant(task: KernelTask, tunables: dict[str, Scalar]) -> Candidate:
    return Candidate(source=task.baseline.source, tunables=tunables)


def _from_file(task: KernelTask, path: Path, values: list[str]) -> Candidate:
    """A candidate of a task with source; the task's own kernel where only its defaults differ."""
    source = read_text(path)
    with naming(path):
        space = task.dialect.space_of(source) or TunableSpace()
        buffers = frozenset(buffer.name for buffer in task.buffers)
        task.dialect.check_names(source, buffers=buffers, shape=task.shape_names)
    tunables = _with_values(space, space.default(), values)
    _check_where(task, space, tunables)
    return Candidate(source=canonical_source(task, source), tunables=tunables)


def _with_values(
    space: TunableSpace, base: dict[str, Scalar], pairs: list[str]
) -> dict[str, Scalar]:
    """`base` with the given ``NAME=VALUE``; InputError for one that is unknown or out of range."""
    chosen = dict(base)
    for pair in pairs:
        name, found, text = pair.partition("=")
        if not found:
            raise InputError(f"--set {pair!r}: write NAME=VALUE")
        declared = space.tunables[name].values if name in space.tunables else ()
        matching = [value for value in declared if str(value) == text]
        chosen[name] = matching[0] if matching else text
    space.check(chosen)
    return chosen


def _check_where(task: KernelTask, space: TunableSpace, tunables: dict[str, Scalar]) -> None:
    if not task.allows(space, tunables):
        listed = ", ".join(f"{name}={value}" for name, value in tunables.items())
        raise InputError(f"the plan's `where` excludes {listed}")


def _row(label: str, candidate: Candidate, found: Evaluation) -> dict[str, Any]:
    timing = found.timing if found.measured else None
    return {
        "candidate": label,
        "id": candidate.id,
        "tunables": candidate.tunables,
        "status": found.status,
        "time_us": timing.median_us if timing else None,
        "baseline_us": timing.baseline_us if timing else None,
        "speedup": timing.speedup if timing else None,
        "over": timing.baseline if timing else None,
        "speedup_low": timing.speedup_low if timing else None,
        "speedup_high": timing.speedup_high if timing else None,
        "shapes": [Shape.of(one).model_dump() for one in timing.shapes] if timing else [],
        "regressions": list(timing.regressions) if timing else [],
        "outside_us": timing.host_us if timing else None,
        "detectable": timing.detectable if timing else None,
        "energy": found.energy.model_dump(mode="json") if found.energy else None,
        "cheat": found.refusal.cheat if found.refusal else None,
        "isolation": str(found.isolation) if found.isolation else None,
        "notes": list(found.notes),
        "message": found.message,
    }


def _print_table(judged: list[tuple[str, Candidate, Evaluation]], *, usual: Configuration) -> None:
    """`usual`: the values of the task's own tunables, which are not named again."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for title in ("candidate", "status"):
        table.add_column(title, overflow="fold")
    for title in ("time, us", "speedup", "95 % interval"):
        table.add_column(title, justify="right", no_wrap=True)
    for label, candidate, found in judged:
        timing = found.timing if found.measured else None
        status = f"{found.status}: {found.refusal.cheat}" if found.refusal else found.status
        table.add_row(
            Text(label),
            Text(status, style="green" if found.measured else "red"),
            *(_figures(timing, digits=2) if timing else ("", "", "")),
        )
        if values := _values(label, candidate, usual):
            table.add_row(Text(f"  with {values}"))
        for shape in timing.shapes if timing else ():
            table.add_row(
                Text(f"  {shape.workload}, weight {shape.weight:.3g}"),
                Text("regression" if shape.regressed else "", style="red"),
                *_figures(shape, digits=3),  # a regression is one of a percent
            )
    print_table(table)
    for label, _, found in judged:
        if found.message:
            print(f"{label}:")
            print(_indented(found.message))
    for line in _remarks(judged):
        print(line)


def _values(label: str, candidate: Candidate, usual: Configuration) -> str:
    """``BLOCK=256, VEC=4``: values that the task's own kernel has not, if no label says them."""
    pairs = [
        f"{name}={value}"
        for name, value in candidate.tunables.items()
        if name not in usual or usual[name] != value
    ]
    return "" if set(pairs) <= set(label.split()) else ", ".join(pairs)


def _figures(latency: Latency, *, digits: int) -> tuple[str, str, str]:
    """Time, speedup and its interval."""
    return (
        f"{latency.median_us:.2f}",
        f"{latency.speedup:.{digits}f}x",
        f"{latency.speedup_low:.{digits}f} to {latency.speedup_high:.{digits}f}",
    )


def _indented(message: str) -> str:
    """A message of one or more lines below its candidate's name, no wider than the terminal."""
    lines = [
        textwrap.fill(
            line,
            width=max(width(), 20),
            initial_indent="  ",
            subsequent_indent="  ",
            break_on_hyphens=False,
        )
        for line in message.splitlines()
    ]
    return "\n".join(line for line in lines if line)


def _remarks(judged: list[tuple[str, Candidate, Evaluation]]) -> list[str]:
    """What stands below the table: what held the candidates, energy, and notes once each."""
    lines = []
    isolations = sorted({str(found.isolation) for _, _, found in judged if found.isolation})
    if isolations:
        lines.append(f"isolation: {', '.join(isolations)}")
    baselines = {found.timing.baseline for _, _, found in judged if found.timing}
    if baselines - {"baseline"}:
        lines.append(f"speedups are over {', '.join(sorted(baselines))}")
    if any(found.timing is not None and found.timing.shapes for _, _, found in judged):
        lines.append("times of several workloads are weighted: the sum of weight times time")
    for label, _, found in judged:
        if found.measured and found.held_back:
            lines.append(
                f"{label}: slower than the baseline on {', '.join(found.held_back)}; a search "
                'would not hand it back (regressions = "refused")'
            )
        if found.energy is not None:
            lines.append(f"{label}: {energy_text(found.energy)}")
    notes = dict.fromkeys(note for _, _, found in judged for note in found.notes)
    return lines + [f"note: {note}" for note in notes]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
