"""What a model's replies are worth, on tasks that it was trained on and on held-out ones.

A quick look between stages: one reply to each question, no search. The questions are of searches
that nothing was trained on, with seeds of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from experiments.training.fitting.config import Training
from experiments.training.fitting.examples import short_enough
from experiments.training.fitting.sampling import sampled
from experiments.training.fitting.stages import gpu_failures, load
from experiments.training.online import LiveJudge
from experiments.training.rewards import LOWEST, lower_bound
from experiments.training.searches import Row, Teacher, examples
from mcts.domain import Candidate
from mcts.errors import InputError
from mcts.files import write_whole
from mcts.options import JudgingOptions

EVALUATED = "evaluated.json"
MOST = 40
"""Questions about one task."""
Say = Callable[[str], None]


class TaskReplies(BaseModel):
    """The replies about one task: how many there are, hold values that can be tried, were measured,
    and are faster than the variant they left from; the mean reward of all.
    """

    model_config = ConfigDict(frozen=True)
    task: str
    held_out: bool
    replies: int
    usable: int
    measured: int
    faster: int
    reward: float


def evaluate(run: Training, model: Path, *, say: Say) -> list[TaskReplies]:
    """Ask `model`, judge its replies, and keep the table beside it. InputError for a run without
    `[examples]`, or a model that cannot be loaded; WorldError if the GPU fails.
    """
    if run.examples is None:
        raise InputError("only a run with [examples] can be evaluated: it names the tasks")
    loaded, tokenizer = load(run, str(model), ())
    rows = short_enough(run, tokenizer, list(_questions(run)))
    if not rows:
        raise InputError("every prompt is too long: raise prompt_tokens")
    with gpu_failures("ask again"):
        texts = [one for (one,) in sampled(run, loaded, tokenizer, rows, samples=1, say=say)]
    with LiveJudge(JudgingOptions(evaluator=run.evaluator), values=True, say=say) as judge:
        found = list(_judged(run, judge, rows, texts))
    lines = [line.model_dump(mode="json") for line in found]
    write_whole(model.parent / EVALUATED, json.dumps(lines, indent=1) + "\n")
    return found


def table(found: list[TaskReplies]) -> Iterator[str]:
    """The lines of a table in Markdown."""
    yield "| task | | usable | measured | faster than its parent | mean reward |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for one in found:
        known = "held out" if one.held_out else "trained on"
        shares = (f"{count / one.replies:.0%}" for count in (one.usable, one.measured, one.faster))
        yield f"| {one.task} | {known} | {' | '.join(shares)} | {one.reward:.3f} |"


def _questions(run: Training) -> Iterator[Row]:
    teaching = run.examples
    assert teaching is not None
    share = max(1, MOST // len(teaching.teachers))
    for task in (*teaching.tasks, *teaching.held_out):
        for name in teaching.teachers:
            teacher = Teacher(
                proposer=name, seed=teaching.seeds + run.seed, evaluations=teaching.evaluations
            )
            yield from list(examples(task, teacher))[:share]


def _judged(
    run: Training, judge: LiveJudge, rows: list[Row], texts: list[str]
) -> Iterator[TaskReplies]:
    assert run.examples is not None
    verdicts = judge.verdicts(
        [row["task"] for row in rows],
        [row["parent"] for row in rows],
        texts,
        shown=[row["shown"] for row in rows],
    )
    for task in dict.fromkeys(row["task"] for row in rows):
        own: list[tuple[Row, Any]] = [
            (row, verdict)
            for row, verdict in zip(rows, verdicts, strict=True)
            if row["task"] == task
        ]
        faster = 0
        for row, verdict in own:
            if verdict is not None and verdict.measured:
                before = judge.evaluation(task, Candidate.model_validate_json(row["parent"]))
                faster += (verdict.speedup or 0.0) > (before.speedup or 0.0)
        rewards = [LOWEST if v is None else lower_bound(v) for _, v in own]
        yield TaskReplies(
            task=task,
            held_out=task in run.examples.held_out,
            replies=len(own),
            usable=sum(verdict is not None for _, verdict in own),
            measured=sum(verdict is not None and verdict.measured for _, verdict in own),
            faster=faster,
            reward=sum(rewards) / len(rewards),
        )
