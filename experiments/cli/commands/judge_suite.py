"""`evaluate --suite`: a folder of candidates, each for the problem that its name says."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.app.candidates import candidates_of, measured_against
from experiments.app.messages import say
from experiments.benchmarks.suite.candidates import candidates_in
from experiments.benchmarks.suite.finding import ProblemFile
from experiments.benchmarks.suite.metrics import Scores, scores
from experiments.cli.commands.judge import evaluated, row_of
from experiments.runs.machines.machine import gpu_problem
from experiments.runs.tasks.files import TaskSource, find_task
from experiments.runs.wiring import composing
from experiments.runs.wiring.choosing import GPU
from experiments.text.tables import Column, print_fitted
from experiments.text.words import counted
from mcts.errors import InputError, UnfairTask, WorldError
from mcts.formats import parse_json
from mcts.options import JudgingOptions
from mcts.options.option import AUTO

Row = dict[str, Any]
_COLUMNS = (
    Column("problem", "words"),
    Column("candidate", "words"),
    Column("status", "words"),
    Column("time, us"),
    Column("speedup"),
    Column("95 % interval"),
)
_BEGINNING = b'{"key": "'
"""Of each line in a file of verdicts."""
_SHOWN = (0.0, 1.0, 1.5, 2.0)


def evaluate_suite(
    root: Path,
    folder: Path,
    *,
    judging: JudgingOptions,
    seed: int,
    against: Path | None,
    kept: Path | None,
    as_json: bool,
) -> bool:
    """Judge each candidate in `folder`, problem by problem, and print a table and what the
    benchmark counts.

    With `against`, a folder too, speedups of a problem are over the candidate there. Where a file
    is to be `kept`, it has a line for each verdict as soon as that is known, and what it holds is
    not judged again. A problem that cannot be judged is told, and the others go on. Returns whether
    all candidates were measured. InputError for folders that do not fit, or a bad file.
    """
    if judging.evaluator == "replay" or judging.recording is not None:
        raise InputError("--suite is judged on a GPU: leave out what is about recordings")
    given = candidates_in(folder, root)
    rivals = {} if against is None else _one_each(candidates_in(against, root))
    if against is not None:
        if judging.baseline == "compile":
            raise InputError("--against is a baseline of its own: leave out --baseline compile")
        for one in [one for one in given if one not in rivals]:
            say(f"left out: {one.key}, for which {against} has no candidate")
            del given[one]
        if not given:
            raise InputError(f"{folder} and {against} have no problem in common")
    before = _Kept(kept)
    ours = judging.evaluator in (AUTO, GPU)
    if ours and (problem := gpu_problem(judging.device, torch=True)):
        raise InputError(f"--suite is judged on a GPU: {problem}")
    rows: list[Row] = []
    try:
        for number, (each, files) in enumerate(given.items(), start=1):
            say(f"{each.key}, {number} of {len(given)}: {each.path.stem}")
            rows += _judged(
                each, files, judging=judging, seed=seed, rival=rivals.get(each), kept=before
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(before.go_on_words()) from None
    figures = _scores(rows, over=None if against is None else str(against))
    if as_json:
        told = {"root": str(root), "candidates": rows, "scores": asdict(figures)}
        print(json.dumps(told, ensure_ascii=False))
    else:
        _print(rows, figures)
    return all(row["status"] == "measured" for row in rows)


def _judged(
    problem: ProblemFile,
    files: Sequence[Path],
    *,
    judging: JudgingOptions,
    seed: int,
    rival: Path | None,
    kept: _Kept,
) -> list[Row]:
    """The rows of a problem's candidates."""
    try:
        source = find_task(str(problem.path), judging.policy)
        if rival is not None:
            source = measured_against(source, rival)
        candidates = candidates_of(source.task, files, [])
    except InputError as error:
        say(f"{problem.key} is not judged: {error}")
        return [_unjudged(problem, str(path), error) for path in files]
    keys = {label: _key(source, candidate.id, judging) for label, candidate in candidates}
    found = {
        label: {**kept.rows[key], "candidate": label}
        for label, key in keys.items()
        if key in kept.rows
    }
    waiting = [one for one in candidates if one[0] not in found]
    try:
        if waiting:
            evaluator = composing.choose_evaluator(source, judging, seed=seed, on_progress=say)
            with closing(evaluator):
                for label, candidate in waiting:
                    evaluation = evaluated(evaluator, label, candidate, energy=False)
                    over = None if rival is None else str(rival)
                    found[label] = {
                        "problem": problem.key,
                        **row_of(label, candidate, evaluation, over=over),
                        "hardware": str(evaluator.hardware),
                    }
                    kept.keep(keys[label], found[label])
    except InputError as error:
        say(f"{problem.key} is not judged: {error}")
        for label, _ in waiting:
            found.setdefault(label, _unjudged(problem, label, error))
    return [found[label] for label, _ in candidates]


def _key(source: TaskSource, candidate_id: str, judging: JudgingOptions) -> str:
    return f"{source.task.id} {candidate_id} {judging.baseline}"


def _unjudged(problem: ProblemFile, label: str, error: InputError) -> Row:
    status = "unfair" if isinstance(error, UnfairTask) else "not judged"
    return {
        "problem": problem.key,
        "candidate": label,
        "status": status,
        "speedup": None,
        "message": str(error),
    }


def _one_each(found: Mapping[ProblemFile, Sequence[Path]]) -> dict[ProblemFile, Path]:
    """InputError for a problem with several candidates, of which one would have to be chosen."""
    for problem, files in found.items():
        if len(files) > 1:
            raise InputError(
                f"--against has {files[0].name} and {files[1].name} for {problem.key}: leave one"
            )
    return {problem: files[0] for problem, files in found.items()}


class _Kept:
    """A file with a line for each verdict. InputError for one that holds something else."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.rows: dict[str, Row] = {}
        if path is None or not path.exists():
            return
        try:
            content = path.read_bytes()
            end = content.rfind(b"\n") + 1
            lines = content[:end].decode("utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read: {error}") from None
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                told = parse_json(line)
                self.rows[str(told["key"])] = dict(told["row"])
            except (ValueError, KeyError, TypeError):
                raise InputError(f"{path}, line {number}: no verdict of this command") from None
        if torn := content[end:]:
            if not torn.startswith(_BEGINNING[: len(torn)]):
                raise InputError(f"{path}, line {len(lines)}: no verdict of this command")
            self._cut(path, end)

    def _cut(self, path: Path, end: int) -> None:
        """Take off a last line that a kill cut short: it is judged again."""
        try:
            os.truncate(path, end)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from None

    def go_on_words(self) -> str:
        """What to say where judging is interrupted."""
        if self._path is None:
            return "interrupted: with --results FILE verdicts are kept, and judging can go on"
        return (
            f"interrupted: {self._path} has {counted(len(self.rows), 'verdict')}; the same "
            "command goes on"
        )

    def keep(self, key: str, row: Row) -> None:
        """Write a verdict down. WorldError if the disk refuses."""
        self.rows[key] = row
        if self._path is None:
            return
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "row": row}, ensure_ascii=False) + "\n")
        except OSError as error:
            raise WorldError(f"{self._path} cannot be written: {error.strerror}") from None


def _scores(rows: Sequence[Row], *, over: str | None) -> Scores:
    """What the benchmark counts: the best right candidate of each problem that can be judged."""
    best: dict[str, float | None] = {}
    for row in rows:
        if row["status"] in ("unfair", "not judged"):
            continue
        known = best.setdefault(row["problem"], None)
        speedup = row["speedup"]
        if speedup is not None and (known is None or speedup > known):
            best[row["problem"]] = speedup
    told = {str(row["over"]) for row in rows if row.get("over")}
    return scores(over or ", ".join(sorted(told)) or "the baseline", list(best.values()))


def _print(rows: Sequence[Row], figures: Scores) -> None:
    def cells(row: Row) -> list[str]:
        status = f"{row['status']}: {row['cheat']}" if row.get("cheat") else str(row["status"])
        shown = [row["problem"], Path(row["candidate"]).name, status]
        if row["speedup"] is None:
            return [*shown, "", "", ""]
        return [
            *shown,
            f"{row['time_us']:.2f}",
            f"{row['speedup']:.2f}x",
            f"{row['speedup_low']:.2f} to {row['speedup_high']:.2f}",
        ]

    print_fitted(_COLUMNS, [cells(row) for row in rows])
    for row in rows:
        if row["message"]:
            print(f"{row['problem']}, {Path(row['candidate']).name}: {row['message']}")
    machines = Counter(row["hardware"] for row in rows if row.get("hardware"))
    if len(machines) > 1:
        print(f"warning: judged on several GPUs: {', '.join(machines)}")
    if not figures.problems:
        print("no problem could be judged")
        return
    shares = ", ".join(f"fast_{p:g} {figures.fast[p]:.0%}" for p in _SHOWN)
    many = "problem" if figures.problems == 1 else "problems"
    print(f"{figures.problems} {many}, {figures.correct} with a right candidate; {shares}")
    if figures.geomean_correct is not None and figures.geomean_all is not None:
        print(
            f"geometric mean over {figures.over}: {figures.geomean_correct:.2f}x of right ones, "
            f"{figures.geomean_all:.2f}x of all, 1 where none is right"
        )
