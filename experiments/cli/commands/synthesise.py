"""`tasks synthesise`: problem files to train on, and what was thrown out."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from experiments.app.counting import counted
from experiments.app.messages import say
from experiments.benchmarks.suite.finding import problems_of
from experiments.text.tables import Column, print_fitted
from experiments.training.synthesis.making import make_tasks
from mcts.errors import InputError
from mcts.options import JudgingOptions

_LEVELS = (1, 2, 3)
_COLUMNS = (Column("thrown out because it", "words"), Column("tasks"))


def synthesise(
    out: Path,
    *,
    count: int,
    seed: int,
    unlike: Path | None,
    on_gpu: bool | None,
    judging: JudgingOptions,
    as_json: bool,
) -> None:
    """Make the tasks, and print what was taken and what was not."""
    benchmark: list[Path] = []
    if unlike is not None:
        if not unlike.is_dir():
            raise InputError(f"--unlike {unlike} does not exist")
        for level in _LEVELS:
            benchmark += [problem.path for problem in problems_of(unlike, level).values()]
    with counted("tasks", "made") as progress:
        made = make_tasks(
            count,
            out,
            seed=seed,
            benchmark=benchmark,
            judging=judging,
            on_gpu=on_gpu,
            say=say,
            progress=progress,
        )
    if as_json:
        print(json.dumps(asdict(made)))
        return
    if made.thrown_out:
        print_fitted(_COLUMNS, [[why, str(times)] for why, times in made.thrown_out.items()])
    print(f"{made.taken} tasks of {made.tried} tried, of {len(made.operators)} operators")
    for what in made.unchecked:
        print(f"not checked: {what}")
    print(f"written: {out}; search them with rooftree kernelbench run --root {out} --level 2")
