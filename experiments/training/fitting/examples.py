"""What a model is trained on: examples of searches, or an export's, and questions among them."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from experiments.training.exporting import read_set
from experiments.training.fitting.config import Teaching, Training
from experiments.training.searches import Row, Teacher, examples, renamed
from mcts.errors import InputError
from mcts.files import write_whole

EXAMPLES = "examples.jsonl.gz"
Say = Callable[[str], None]


def make_examples(teaching: Teaching, file: Path, *, jobs: int, say: Say) -> int:
    """Search the tasks, and write every trial to `file`; how many there are.

    InputError for a task without a recording.
    """
    asked = [
        (task, Teacher(proposer=name, seed=at, evaluations=teaching.evaluations))
        for task in teaching.tasks
        for name in teaching.teachers
        for at in range(teaching.seeds)
    ]
    rows: list[Row] = []
    with ProcessPoolExecutor(jobs) as pool:
        for count, found in enumerate(pool.map(_examples, asked, chunksize=4), start=1):
            rows += found
            if count % 50 == 0 or count == len(asked):
                say(f"{count} of {len(asked)} searches, {len(rows)} trials")
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_whole(file, gzip.compress(lines.encode(), mtime=0))
    return len(rows)


def read_examples(file: Path) -> list[Row]:
    """The rows that `make_examples` wrote. InputError if there are none, or a line is damaged."""
    try:
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            lines = stream.read().splitlines()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        raise InputError(
            f"{file} is missing or was cut off: make it with python -m experiments.training "
            "examples"
        ) from None
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            if not row["verdict"] or not row["prompt"] or not row["completion"]:
                raise ValueError
            float(row["gain"]), str(row["task"]), row["parent"], list(row["shown"])
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{file}, line {number}: no example with a verdict: make the file again"
            ) from None
        rows.append(row)
    if not rows:
        raise InputError(f"{file} holds no example")
    return rows


def trained_on(run: Training, folder: Path) -> list[Row]:
    """What sft trains on. InputError if there is nothing."""
    if run.data is not None:
        return read_set(run.data, "supervised", "train")
    rows = [
        row
        for row in read_examples(folder / EXAMPLES)
        if row["verdict"] == "measured" and row["gain"] > run.sft.least_gain
    ]
    if not rows:
        raise InputError("no example is left to train on: lower least_gain, or make more")
    draw = random.Random(run.seed)
    return rows + [renamed(row, draw) for row in rows for _ in range(run.sft.renamed)]


def questions(run: Training, folder: Path, tokenizer: Any, count: int) -> list[Row]:
    """Examples that can be judged and are short enough, drawn by the run's seed, over again where
    there are too few.
    """
    asked = [row for row in read_examples(folder / EXAMPLES) if row["parent"] is not None]
    rows = short_enough(run, tokenizer, asked)
    if not rows:
        raise InputError("every prompt is too long: raise prompt_tokens")
    draw = random.Random(run.seed)
    drawn: list[Row] = []
    while len(drawn) < count:
        drawn += draw.sample(rows, min(len(rows), count - len(drawn)))
    return drawn


def short_enough(run: Training, tokenizer: Any, rows: Sequence[Row]) -> list[Row]:
    """Those whose prompts have at most `prompt_tokens`."""
    lengths = tokens_of(tokenizer, [row["prompt"] for row in rows])
    return [row for row, size in zip(rows, lengths, strict=True) if size <= run.prompt_tokens]


def tokens_of(tokenizer: Any, talks: Sequence[Sequence[dict[str, str]]]) -> list[int]:
    """How many tokens the messages of each have, with what stands between them."""
    texts = [
        tokenizer.apply_chat_template(list(talk), tokenize=False, add_generation_prompt=True)
        for talk in talks
    ]
    encoded = tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else []
    return [len(ids) for ids in encoded]


def _examples(asked: tuple[str, Teacher]) -> list[Row]:
    return list(examples(*asked))
