"""`evaluate`: verify and time candidates without a search."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from codegen.chat.clients import client_of
from codegen.opinion import second_opinion
from codegen.prompting.opinion import opinion_prompt
from experiments.app.candidates import candidates_of, measured_against
from experiments.app.messages import say, ticking
from experiments.app.refusals import check_models
from experiments.runs.tasks.files import find_task
from experiments.runs.wiring import composing
from experiments.text.quantities import energy_text
from experiments.text.tables import print_table, width
from mcts.domain import (
    Candidate,
    Evaluation,
    KernelTask,
)
from mcts.domain.evaluation import Latency, Timing
from mcts.domain.tunables import Configuration
from mcts.errors import InputError, NotRecorded, RooftreeError
from mcts.journal.summary import Shape
from mcts.options import JudgingOptions, ModelOptions
from mcts.options.option import AUTO
from mcts.ports import Evaluator


def evaluate(
    task: str,
    files: list[Path],
    *,
    values: list[str],
    judging: JudgingOptions,
    seed: int,
    energy: bool,
    against: Path | None = None,
    asked: ModelOptions | None = None,
    as_json: bool,
) -> bool:
    """Evaluate each file, or the baseline's source with the given tunables, and print the results;
    where a model is `asked`, with its second opinion on each.

    With `against`, the candidate in that file is the baseline. Returns whether all were measured.
    Raises InputError if a candidate does not fit the task, or if the evaluator or the model cannot
    answer for it.
    """
    if against is not None:
        if judging.baseline == "compile":
            raise InputError("--against is a baseline of its own: leave out --baseline compile")
        if judging.evaluator == "replay" or judging.recording is not None:
            raise InputError(
                "--against is measured: a recording's times are over the task's own baseline"
            )
    source = find_task(task, judging.policy)
    candidates = candidates_of(source.task, files, values)
    if against is not None:
        source = measured_against(source, against)
        if judging.evaluator == AUTO:  # nobody has recorded this baseline
            judging = judging.model_copy(update={"evaluator": "gpu"})
    over = None if against is None else str(against)
    if asked is not None:
        if asked.name is None:
            raise InputError("--second-opinion needs --model NAME: who is to be asked")
        check_models(asked)
        for _, candidate in candidates:
            opinion_prompt(source.task, candidate, options=asked)  # one that is too long is told
    evaluator = composing.choose_evaluator(source, judging, seed=seed, on_progress=say)
    with closing(evaluator):
        hardware, name = str(evaluator.hardware), evaluator.name
        if energy and not evaluator.measures_energy:
            raise InputError(f"evaluator {name} measures no energy: leave out --energy")
        results = [
            (label, candidate, evaluated(evaluator, label, candidate, energy=energy))
            for label, candidate in candidates
        ]
    if not as_json:
        print(f"task {source.task.name}, evaluator {name}, hardware {hardware}")
        _print_table(results, baseline=source.task.baseline.tunables, over=over)
    opinions = _opinions(asked, source.task, candidates) if asked is not None else {}
    if as_json:
        document = {
            "task": source.task.name,
            "evaluator": name,
            "hardware": hardware,
            "candidates": [
                {
                    **row_of(*result, over=over),
                    **({"opinion": opinions[result[0]]} if opinions else {}),
                }
                for result in results
            ],
        }
        print(json.dumps(document, ensure_ascii=False))
    elif asked is not None:
        for label, opinion in opinions.items():
            print(f"{label}: {asked.name} {_opinion_text(opinion)}")
    return all(evaluation.measured for _, _, evaluation in results)


def _opinions(
    asked: ModelOptions, task: KernelTask, candidates: Iterable[tuple[str, Candidate]]
) -> dict[str, dict[str, Any]]:
    """What the model says of each, or why it says nothing: a remark must not cost a verdict."""
    found: dict[str, dict[str, Any]] = {}
    with closing(client_of(asked)) as client:
        for label, candidate in candidates:
            with ticking(f"asking for a second opinion on {label}"):
                try:
                    opinion = second_opinion(client, task, candidate, asked)
                except RooftreeError as error:
                    found[label] = {"problem": str(error)}
                    continue
            found[label] = asdict(opinion) if opinion is not None else {"problem": "no opinion"}
    return found


def _opinion_text(opinion: Mapping[str, Any]) -> str:
    if problem := opinion.get("problem"):
        return f"says nothing: {problem}"
    said = f": {opinion['why']}" if opinion["why"] else ""
    if opinion["honest"]:
        return f"finds it honest{said}"
    return f"finds that it breaks {opinion['breaks'] or 'a rule'}{said}"


def evaluated(
    evaluator: Evaluator, label: str, candidate: Candidate, *, energy: bool
) -> Evaluation:
    """The candidate's evaluation, with its energy if asked. InputError if it was not recorded."""
    with ticking(f"judging {label}") as change_message:
        try:
            evaluation = evaluator.evaluate(candidate)
            if energy and evaluation.measured:
                change_message(f"measuring the energy of {label}")
                evaluation = evaluator.measure_energy(candidate, evaluation)
        except NotRecorded as error:
            raise InputError(f"{label}: {error}; measure it with --evaluator gpu") from None
    return evaluation


def row_of(
    label: str, candidate: Candidate, evaluation: Evaluation, *, over: str | None
) -> dict[str, Any]:
    """A candidate's entry in the JSON document; speedups are `over` that, if it is no usual one."""
    timing = evaluation.timing if evaluation.measured else None
    return {
        "candidate": label,
        "id": candidate.id,
        "tunables": candidate.tunables,
        "status": evaluation.status,
        "time_us": timing.median_us if timing else None,
        "baseline_us": timing.baseline_us if timing else None,
        "speedup": timing.speedup if timing else None,
        "over": (over or timing.baseline) if timing else None,
        "speedup_low": timing.speedup_low if timing else None,
        "speedup_high": timing.speedup_high if timing else None,
        "shapes": [Shape.of(shape).model_dump() for shape in timing.shapes] if timing else [],
        "regressions": list(timing.regressions) if timing else [],
        "outside_us": timing.host_us if timing else None,
        "least_us": timing.least_us if timing else None,
        "sol_score": timing.sol_score if timing else None,
        "detectable": timing.detectable if timing else None,
        "energy": evaluation.energy.model_dump(mode="json") if evaluation.energy else None,
        "cheat": evaluation.refusal.cheat if evaluation.refusal else None,
        "isolation": str(evaluation.isolation) if evaluation.isolation else None,
        "notes": list(evaluation.notes),
        "message": evaluation.message,
    }


def _print_table(
    results: list[tuple[str, Candidate, Evaluation]],
    *,
    baseline: Configuration,
    over: str | None = None,
) -> None:
    """Print a row for each candidate, then messages and remarks.

    Tunables are shown if their values differ from the baseline's.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for title in ("candidate", "status"):
        table.add_column(title, overflow="fold")
    for title in ("time, us", "speedup", "95 % interval"):
        table.add_column(title, justify="right", no_wrap=True)
    for label, candidate, evaluation in results:
        timing = evaluation.timing if evaluation.measured else None
        refusal = evaluation.refusal
        status = f"{evaluation.status}: {refusal.cheat}" if refusal else evaluation.status
        table.add_row(
            Text(label),
            Text(status, style="green" if evaluation.measured else "red"),
            *(_figures(timing, digits=2) if timing else ("", "", "")),
        )
        if values := _values(label, candidate, baseline):
            table.add_row(Text(f"  with {values}"))
        for shape in timing.shapes if timing else ():
            table.add_row(
                Text(f"  {shape.workload}, weight {shape.weight:.3g}"),
                Text("regression" if shape.regressed else "", style="red"),
                *_figures(shape, digits=3),  # one percent already counts as a regression
            )
    print_table(table)
    for label, _, evaluation in results:
        if evaluation.message:
            print(f"{label}:")
            print(_indented(evaluation.message))
    for line in _remarks(results, over):
        print(line)


def _values(label: str, candidate: Candidate, baseline: Configuration) -> str:
    """``BLOCK=256, VEC=4``: values that differ from the baseline's; empty if the label has them."""
    pairs = [
        f"{name}={value}"
        for name, value in candidate.tunables.items()
        if name not in baseline or baseline[name] != value
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
    """A message, indented and wrapped to the width of the terminal."""
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


def _sol_words(timing: Timing) -> str:
    """The SOL score, and what it is by."""
    least = f"{timing.least_us:.4g} us, " if timing.least_us is not None else ""
    beaten = timing.least_us is not None and timing.median_us < timing.least_us
    return (
        f"SOL score {timing.sol_score:.2f} (1 at the least time by the roofline, {least}0.5 at "
        f"{timing.baseline}{'; the estimate is beaten' if beaten else ''})"
    )


def _remarks(results: list[tuple[str, Candidate, Evaluation]], over: str | None) -> list[str]:
    """The lines below the table: isolation, regressions, energy, and each note once."""
    lines = []
    evaluations = [evaluation for _, _, evaluation in results]
    isolations = sorted({str(each.isolation) for each in evaluations if each.isolation})
    if isolations:
        lines.append(f"isolation: {', '.join(isolations)}")
    timings = [each.timing for each in evaluations if each.timing]
    baselines = {over or timing.baseline for timing in timings}
    if baselines - {"baseline"}:
        lines.append(f"speedups are over {', '.join(sorted(baselines))}")
    for label, _, evaluation in results:
        timing = evaluation.timing if evaluation.measured else None
        if timing is not None and timing.sol_score is not None:
            lines.append(f"{label}: {_sol_words(timing)}")
    if any(timing.shapes for timing in timings):
        lines.append("times of several workloads are weighted: the sum of weight times time")
    for label, _, evaluation in results:
        if evaluation.measured and evaluation.held_back:
            lines.append(
                f"{label}: slower than the baseline on {', '.join(evaluation.held_back)}; a search "
                'would not hand it back (regressions = "refused")'
            )
        if evaluation.energy is not None:
            lines.append(f"{label}: {energy_text(evaluation.energy)}")
    notes = dict.fromkeys(note for each in evaluations for note in each.notes)
    return lines + [f"note: {note}" for note in notes]
